// Where registrations and logins take place: each in a worker of its own, so that a cancelled one takes no other with it.
//
// WebAssembly memory never shrinks; it is returned with the worker. So a worker whose module has stretched a key is ended, and one that has not
// is kept for the next.

import { OpaqueError } from "./error.js";
import { loadModule, loaded } from "./load.js";
import { NAME } from "./name.js";
import type { Instance, Order, Report, Request } from "./worker.js";

/** Where the module runs. */
export interface WorkplacesOptions {
  /**
   * - `auto`, the default: in a worker, or beside the page where none can be started. There key stretching blocks the page, and can't be cancelled.
   * - `inline`: always beside the page.
   * - a function that makes a worker out of this package's `worker.js`, for bundlers that don't know `new URL(…, import.meta.url)`. The worker must be a
   *   module, and its name `@candor/opaque`.
   */
  worker?: "auto" | "inline" | (() => Worker);
}

/** What a request may report, and what stops it. */
export interface RunOptions {
  onProgress?: ((fraction: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** More than a module takes that has stretched nothing, and less than any key stretching. */
const SMALL = 8 << 20;

/** How long a worker may take to start, in milliseconds: its script is loaded. */
const START = 20_000;

/** All workplaces of a client. */
export class Workplaces {
  readonly #worker: "auto" | "inline" | (() => Worker);
  #idle: Host | null = null;
  #warned = false;

  constructor(options: WorkplacesOptions) {
    this.#worker = options.worker ?? "auto";
  }

  /** A workplace where nothing has begun. */
  async take(signal?: AbortSignal): Promise<Workplace> {
    signal?.throwIfAborted();
    const idle = this.#idle;
    this.#idle = null;
    const host = idle ?? (await this.#startUnless(signal));
    const place = new Workplace(host, (free) => this.#keep(free));
    if (signal?.aborted) {
      place.leave();
      throw signal.reason;
    }
    return place;
  }

  /** Ends the worker that waits. */
  close(): void {
    this.#idle?.end();
    this.#idle = null;
  }

  /** One is kept; more is wasted memory. */
  #keep(host: Host): void {
    if (this.#idle === null) this.#idle = host;
    else host.end();
  }

  /** Starts one. If that is cancelled, it is there for the next. */
  async #startUnless(signal: AbortSignal | undefined): Promise<Host> {
    const starting = this.#start();
    let cancel = (): void => {};
    const cancelled = new Promise<never>((_, reject) => {
      cancel = () => reject(signal?.reason);
    });
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      return await Promise.race([starting, cancelled]);
    } catch (error) {
      starting.then(
        (host) => this.#keep(host),
        () => {},
      );
      throw error;
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  async #start(): Promise<Host> {
    const module = await loadModule();
    if (this.#worker !== "inline") {
      try {
        return await Remote.start(this.#worker === "auto" ? startWorker() : ofWeb(this.#worker()), module);
      } catch (error) {
        if (this.#worker !== "auto") throw new OpaqueError("internal", `the worker can't be started: ${String(error)}`, error);
        // The next one tries again: it may have been the network.
        if (!this.#warned) console.warn(`${NAME}: no worker can be started, so key stretching will block: ${String(error)}`);
        this.#warned = true;
      }
    }
    const { Instance } = await loaded(() => import("./worker.js"));
    try {
      return new Beside(new Instance(module));
    } catch (error) {
      throw new OpaqueError("memory", `the module can't be started: ${String(error)}`, error);
    }
  }
}

/** Where one registration or login takes place. */
export class Workplace {
  #host: Host | null;
  readonly #free: (host: Host) => void;
  /** Rejects the run that is under way. */
  #interrupt: ((why: unknown) => void) | null = null;

  constructor(host: Host, free: (host: Host) => void) {
    this.#host = host;
    this.#free = free;
  }

  /**
   * Does what is asked, and gives the fields of the answer. What is asked meanwhile is refused.
   *
   * @throws OpaqueError, or the signal's reason, or what `onProgress` has thrown
   */
  async run(request: Request, { onProgress, signal }: RunOptions): Promise<Uint8Array[]> {
    const host = this.#host;
    if (host === null) throw new OpaqueError("input", "this registration or login is over; start another");
    if (this.#interrupt !== null) throw new OpaqueError("input", "this registration or login is at work; wait for it, or cancel it");
    let interrupt = (_why: unknown): void => {};
    const interrupted = new Promise<never>((_, reject) => {
      this.#interrupt = interrupt = reject;
    });
    const cancel = (): void => interrupt(signal?.reason);
    // Thrown through the module, it would leave that in no defined state.
    const report = (fraction: number): void => {
      try {
        onProgress?.(fraction);
      } catch (error) {
        interrupt(error);
      }
    };
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      signal?.throwIfAborted();
      const result = await Promise.race([host.work(request, report), interrupted]);
      const goesOn = result.kind === "answer" && request.operation.startsWith("start-");
      if (!goesOn) this.#over(result);
      if (result.kind === "answer") return result.fields;
      throw new OpaqueError(result.kind === "refusal" ? result.code : "internal", result.text);
    } catch (error) {
      // In the middle of its work only its end stops the module.
      this.#host?.end();
      this.#host = null;
      throw error;
    } finally {
      this.#interrupt = null;
      signal?.removeEventListener("abort", cancel);
    }
  }

  /** Gives up the place, and what has begun or is at work there. */
  leave(): void {
    const host = this.#host;
    this.#host = null;
    if (host === null) return;
    const end = (): void => host.end();
    if (this.#interrupt !== null) {
      end();
      return this.#interrupt(new OpaqueError("input", "this registration or login was given up while it was at work"));
    }
    host.work({ operation: "forget" }, () => {}).then((report) => (report.kind === "answer" ? this.#free(host) : end()), end);
  }

  #over(report: Result): void {
    const host = this.#host;
    this.#host = null;
    if (host === null) return;
    if (report.kind !== "failure" && report.memory <= SMALL) this.#free(host);
    else host.end();
  }
}

/** What a request ends in. */
type Result = Exclude<Report, { kind: "ready" } | { kind: "progress" }>;

/** A module, wherever it runs. */
interface Host {
  work(request: Request, onProgress: (fraction: number) => void): Promise<Result>;
  /** Ends it at once, and returns its memory. */
  end(): void;
}

/** A module beside the page. */
class Beside implements Host {
  #instance: Instance | null;

  constructor(instance: Instance) {
    this.#instance = instance;
  }

  async work(request: Request, onProgress: (fraction: number) => void): Promise<Result> {
    const long = request.operation === "finish" || request.operation === "old-hash";
    // Once more the page can show something, before it stands still.
    if (long) await new Promise((resolve) => setTimeout(resolve));
    if (this.#instance === null) throw new OpaqueError("internal", "the module has been ended");
    return this.#instance.work(request, onProgress) as Result;
  }

  end(): void {
    this.#instance = null;
  }
}

interface Waiting {
  resolve: (report: Report) => void;
  reject: (why: unknown) => void;
  onProgress: (fraction: number) => void;
}

/** A module in a worker. */
class Remote implements Host {
  readonly #thread: Thread;
  #waiting: Waiting | null = null;

  private constructor(thread: Thread) {
    this.#thread = thread;
    thread.listen(
      (report) => {
        if (report.kind === "progress") return this.#waiting?.onProgress(report.fraction);
        this.#settle()?.resolve(report);
      },
      (why) => this.#settle()?.reject(new OpaqueError("internal", `the worker has failed: ${String(why)}`, why)),
    );
  }

  static async start(thread: Thread, module: WebAssembly.Module): Promise<Remote> {
    const remote = new Remote(thread);
    const timer = setTimeout(() => remote.#settle()?.reject(new Error(`it has not started within ${START / 1000} s`)), START);
    try {
      await remote.#send({ module }, [], () => {});
    } catch (error) {
      remote.end();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    return remote;
  }

  async work(request: Request, onProgress: (fraction: number) => void): Promise<Result> {
    // The password moves, so that no copy stays here.
    const moved = "password" in request ? [request.password.buffer as ArrayBuffer] : [];
    return (await this.#send({ request }, moved, onProgress)) as Result;
  }

  end(): void {
    this.#thread.end();
    this.#settle();
  }

  #send(order: Order, moved: ArrayBuffer[], onProgress: (fraction: number) => void): Promise<Report> {
    return new Promise((resolve, reject) => {
      // Answers come in order and have no names.
      if (this.#waiting !== null) throw new OpaqueError("internal", "the worker is at work");
      this.#waiting = { resolve, reject, onProgress };
      this.#thread.busy(true);
      this.#thread.post(order, moved);
    });
  }

  #settle(): Waiting | null {
    const waiting = this.#waiting;
    this.#waiting = null;
    this.#thread.busy(false);
    return waiting;
  }
}

/** A worker of the web or of Node. */
interface Thread {
  post(order: Order, moved: ArrayBuffer[]): void;
  listen(onReport: (report: Report) => void, onError: (why: unknown) => void): void;
  end(): void;
  /** Whether the program must wait for it. */
  busy(is: boolean): void;
}

function startWorker(): Thread {
  const url = new URL("./worker.js", import.meta.url);
  if (typeof Worker === "function") return ofWeb(new Worker(trusted(url), { type: "module", name: NAME }));
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
  const threads = process?.getBuiltinModule?.("node:worker_threads") as { Worker: NodeWorkerClass } | undefined;
  if (threads === undefined) throw new Error("there are no workers here");
  return ofNode(new threads.Worker(url, { workerData: NAME }));
}

function ofWeb(worker: Worker): Thread {
  return {
    post: (order, moved) => worker.postMessage(order, moved),
    listen: (onReport, onError) => {
      worker.onmessage = ({ data }: MessageEvent<Report>) => onReport(data);
      worker.onmessageerror = () => onError(new Error("a message can't be read"));
      worker.onerror = (event) => {
        event.preventDefault();
        onError(new Error(event.message || "its script can't be loaded"));
      };
    },
    end: () => worker.terminate(),
    busy: () => {},
  };
}

interface NodeWorker {
  postMessage(order: Order, moved: ArrayBuffer[]): void;
  on(event: "message", listener: (report: Report) => void): void;
  on(event: "error" | "messageerror", listener: (why: unknown) => void): void;
  terminate(): Promise<number>;
  ref(): void;
  unref(): void;
}
type NodeWorkerClass = new (url: URL, options: { workerData: unknown }) => NodeWorker;

function ofNode(worker: NodeWorker): Thread {
  return {
    post: (order, moved) => worker.postMessage(order, moved),
    listen: (onReport, onError) => {
      worker.on("message", onReport);
      worker.on("messageerror", onError);
      worker.on("error", onError);
    },
    end: () => void worker.terminate(),
    busy: (is) => (is ? worker.ref() : worker.unref()),
  };
}

/** Trusted Types, as far as we need them. */
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(text: string): string }): { createScriptURL(text: string): unknown };
}
let policy: ReturnType<TrustedTypes["createPolicy"]> | undefined;

/** The URL of our worker, as a page under `require-trusted-types-for 'script'` wants it. The policy has this package's name, and makes no other URL. */
function trusted(url: URL): URL {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  if (trustedTypes === undefined) return url;
  policy ??= trustedTypes.createPolicy(NAME, {
    createScriptURL: (text) => {
      if (text !== url.href) throw new TypeError(`${text} is not the worker of ${NAME}`);
      return text;
    },
  });
  return policy.createScriptURL(url.href) as URL;
}
