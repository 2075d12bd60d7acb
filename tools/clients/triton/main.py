"""Runs the tests whose names contain a text: `main.py [TEXT]`. Prints a line for each: `passed NAME`, or `failed NAME: REASON`."""

import sys

import triton

import attention  # noqa: F401, the modules add their tests
import elementwise  # noqa: F401
import matmul  # noqa: F401
import reductions  # noqa: F401
import tensor_maps  # noqa: F401
from device import TESTS, Scratch


def main():
    text = sys.argv[1] if len(sys.argv) > 1 else ""
    part, parts = (int(number) for number in sys.argv[2].split("/")) if len(sys.argv) > 2 else (0, 1)
    target = triton.runtime.driver.active.get_current_target()
    triton.set_allocator(Scratch)
    selected = [test for test in TESTS if text in test.name and test.runs_on(target.arch)]
    failed = 0
    for test in selected[part::parts]:
        try:
            test.function()
            print(f"passed {test.name}", flush=True)
        except Exception as error:
            failed += 1
            reason = " ".join(str(error).split()) or type(error).__name__
            print(f"failed {test.name}: {reason[:300]}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
