// Measures in Chromium: node bench/run.mjs, in the package's folder. `cargo xtask wasm bench` runs it. Only on a quiet machine do its figures mean anything.

import { browse, skipBrowser } from "../test/browser.js";
import { serveFolder } from "../test/site.js";

if (skipBrowser) process.exit(1);
const site = await serveFolder(".", { pages: { "/bench.html": "<!doctype html><title>bench</title>" } });
const browser = await browse();
try {
  const page = await browser.open(`${site.url}/bench.html`);
  const figures = await page.evaluate(`import("/bench/page.js").then(({ measure }) => measure(${Number(process.argv[2] ?? 12)}))`);
  for (const [name, { median, least }] of Object.entries(figures.times)) {
    console.log(`${name}: median ${median.toFixed(2)} ms, least ${least.toFixed(2)} ms`);
  }
  for (const [name, { median, least }] of Object.entries(figures.ratios)) {
    console.log(`${name}: ${median.toFixed(3)} by medians, ${least.toFixed(3)} by the least`);
  }
  console.log(figures.engine);
} finally {
  await browser.close();
  await site.stop();
}
