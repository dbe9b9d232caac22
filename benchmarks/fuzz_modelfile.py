"""Model files under fire: ``python -m benchmarks.fuzz_modelfile [mutations]``.

Random mutations and every truncation of a small model file: each must be refused with a clear
error. An audit hook watches for pickle, and memory is measured.
"""

import importlib.util
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path

from benchmarks.memory import peak
from vish.modelfile import ModelFileError, read_model

ROOT = Path(__file__).resolve().parents[1]
FORBIDDEN = ("pickle.find_class", "exec", "compile", "os.system", "subprocess.Popen")


def main(n_mutations: int) -> None:
    spec = importlib.util.spec_from_file_location("golden", ROOT / "tests" / "test_golden.py")
    assert spec is not None
    assert spec.loader is not None
    golden = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(golden)
    path = min(golden.GOLDEN, key=lambda p: p.stat().st_size)
    data = path.read_bytes()
    texts: dict[str, int] = {}
    events: set[str] = set()
    watching = False

    def hook(event, arguments):
        if watching and event in FORBIDDEN:
            events.add(event)

    sys.addaudithook(hook)
    start, before = time.perf_counter(), peak()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "m.vish"
        read_model(path)
        watching = True
        cuts = (data[:end] for end in range(len(data)))
        for number, changed in enumerate(chain(cuts, golden.mutations(data, n_mutations, 0))):
            file.write_bytes(changed)
            try:
                read_model(file)
            except ModelFileError as error:
                text = str(error).removeprefix(str(file))
                kind = "".join(c for c in text if not c.isdigit() and c != ",")[:60]
                texts[kind] = texts.get(kind, 0) + 1
            else:
                sys.exit(f"case {number} was read as a model")
        watching = False
    after = peak()
    total = sum(texts.values())
    print(
        f"{path.name} ({len(data):,} bytes): {total:,} files refused, "
        f"{len(data):,} of them truncations"
    )
    for text, count in sorted(texts.items(), key=lambda item: -item[1]):
        print(f"  {count:7,} {text.strip()}")
    print(f"events of {', '.join(FORBIDDEN)}: {', '.join(sorted(events)) or 'none'}")
    print(f"{after - before:.0f} MB more at the peak, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
