// The worker that comes after this on file: pages is a stand-in, which search needs and live cells cannot use.
globalThis.BrowserWorker = globalThis.Worker;
