"""Every public function, method and property is used by a test or by an example that a test runs."""

import pytest

import uses


def test_every_public_name_is_used(request):
    # The last test: see conftest.py.
    if not request.config.option_all:
        pytest.skip("only some tests run")
    unused = sorted(request.config.public_names - uses.USED)
    assert not unused, "no test uses " + ", ".join(unused)
