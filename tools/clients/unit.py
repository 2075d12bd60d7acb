"""Runs tests of the Python module unittest: `unit.py NAME…`, where names are those of modules, classes and tests.

Prints a line for each test: `passed NAME`, `skipped NAME: REASON`, or `failed NAME: REASON`.
"""

import sys
import time
import unittest


class Result(unittest.TestResult):
    """Prints the result of a test when it ends. The parts of a test are one test."""

    def __init__(self):
        super().__init__()
        self.reason = None
        self.started = 0.0

    def startTest(self, test):
        super().startTest(test)
        self.reason = None
        self.started = time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        kind, reason = self.reason or ("passed", None)
        self.write(kind, test.id(), reason)

    def write(self, kind, name, reason):
        seconds = time.monotonic() - self.started
        text = f": {' '.join(str(reason).split())[:200]}" if reason else ""
        # Tests replace the standard output.
        print(f"{kind} {name}{text} ({seconds:.1f} s)", file=sys.__stdout__, flush=True)

    def failed(self, test, error):
        reason = f"{error[0].__name__}: {error[1]}"
        if isinstance(test, unittest.TestCase):
            self.reason = ("failed", reason)
        else:
            # The preparation of a class or a module.
            self.write("failed", test.id(), reason)

    def addError(self, test, error):
        super().addError(test, error)
        self.failed(test, error)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.failed(test, error)

    def addSubTest(self, test, part, error):
        super().addSubTest(test, part, error)
        if error is not None:
            self.failed(test, error)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        if isinstance(test, unittest.TestCase):
            self.reason = self.reason or ("skipped", reason)
        else:
            self.write("skipped", test.id(), reason)


def main():
    result = Result()
    unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:]).run(result)
    return int(not result.wasSuccessful())


if __name__ == "__main__":
    sys.exit(main())
