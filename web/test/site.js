// A web server for tests: the files of a folder, and everything under /v1 from the login server, so that both have one origin.

import { readFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { extname, join, normalize } from "node:path";

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".json": "application/json" };

/** Serves a folder. `pages` are files that are not in it; `headers` go with everything. */
export async function serveFolder(folder, { login, pages = {}, headers = {} } = {}) {
  const server = createServer(async (asked, answer) => {
    const { pathname } = new URL(asked.url, "http://localhost");
    if (pathname.startsWith("/v1/") && login !== undefined) {
      const upstream = request(new URL(asked.url, login), { method: asked.method, headers: asked.headers }, (response) => {
        answer.writeHead(response.statusCode, response.headers);
        response.pipe(answer);
      });
      return asked.pipe(upstream);
    }
    if (pathname === "/favicon.ico") return answer.writeHead(204).end();
    try {
      const body = pages[pathname] ?? (await readFile(join(folder, normalize(pathname))));
      const type = TYPES[extname(pathname)] ?? "text/html; charset=utf-8";
      answer.writeHead(200, { "Content-Type": type, ...headers }).end(body);
    } catch {
      answer.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    stop() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
