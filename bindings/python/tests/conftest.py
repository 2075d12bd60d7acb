"""Modules for the tests."""

import pytest

import ptxkit
import uses

TEXT = """\
.version 8.0
.target sm_80
.address_size 64

.file 1 "sum.cu"
.extern .func (.param .b32 out) helper(.param .b32 in);
.visible .global .align 4 .f32 scale = 0f3F800000;

.visible .entry _Z3sumPfi(
	.param .u64 _Z3sumPfi_param_0,
	.param .u32 n
)
.maxntid 128, 1, 1
{
	.reg .pred %p<2>;
	.reg .b32 %r<4>;
	.reg .f32 %f<3>;
	.reg .b64 %rd<3>;
	.shared .align 4 .b8 buffer[512];

	.loc 1 4 9
	ld.param.u64 %rd1, [_Z3sumPfi_param_0];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, 0;
	mov.f32 %f1, 0f00000000;
$LOOP:
	.loc 1 6 5
	ld.global.f32 %f2, [%rd1+4];
	add.f32 %f1, %f1, %f2; // the sum
	add.s32 %r2, %r2, 1;
	setp.lt.s32 %p1, %r2, %r1;
	@%p1 bra $LOOP;
	@!%p1 st.global.f32 [%rd1], %f1;
	bar.sync 0;
	ret;
}

.func unused()
{
	ret;
}
"""


@pytest.fixture
def text():
    return TEXT


@pytest.fixture
def module():
    return ptxkit.parse(TEXT, name="sum.ptx")


@pytest.fixture
def kernel(module):
    return module.kernels[0]


def pytest_configure(config):
    config.public_names = uses.install()


def pytest_collection_modifyitems(config, items):
    """What the tests use is known after all others. They are all collected unless some are chosen."""
    last = [item for item in items if item.name == "test_every_public_name_is_used"]
    items[:] = [item for item in items if item not in last] + last
    chosen = config.getoption("keyword") or config.getoption("markexpr") or any("::" in arg for arg in config.args)
    files = {item.path.name for item in items}
    config.option_all = not chosen and all(path.name in files for path in config.rootpath.joinpath("tests").glob("test_*.py"))
