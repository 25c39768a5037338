"""The engine of the live cells: one script, which a page loads when a cell is run.

It holds MicroPython with its WebAssembly, the files that cells import, and the worker's script, so
that nothing is fetched, and a page from the file system can run it.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

from . import live, tiny

HERE = Path(__file__).resolve().parent
MICROPYTHON = HERE.parent / "vendor/micropython"
MODULES_ONLY = {  # what only a module may say, and what a worker's script says instead
    "export default _createMicroPythonModule": "",
    "export async function loadMicroPython": "async function loadMicroPython",
    "import.meta.url": "self.location.href",
}


def script() -> str:
    """The script, which defines `liveEngine`."""
    wasm = base64.b64encode((MICROPYTHON / "micropython.wasm").read_bytes()).decode()
    files = live.files(live.LAST) | {
        name: (HERE / name).read_text() for name in ("runner.py", "page_checking.py")}
    content = {"worker": _micropython() + (HERE / "worker.js").read_text(),
               "wasm": f"data:application/wasm;base64,{wasm}", "files": files,
               "ends": {n: len(tiny.source_until(n)) for n in range(1, live.LAST)}}
    return f"globalThis.liveEngine = {json.dumps(content)};\n"


def _micropython() -> str:
    """MicroPython as a script that defines `loading`, a promise of `loadMicroPython`.

    On a page from the file system, the script of a worker can be no module.
    """
    text = (MICROPYTHON / "micropython.mjs").read_text()
    for words, instead in MODULES_ONLY.items():
        if words not in text:
            raise LookupError(f"micropython.mjs does not say {words!r}: is it another version?")
        text = text.replace(words, instead)
    return f"const loading = (async () => {{\n{text}\nreturn loadMicroPython;\n}})();\n"
