//! A program that uses CUDA through the crate cudarc. Prints a line for each test: `passed NAME`, or `failed NAME: REASON`.

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction, LaunchConfig, PushKernelArg as _, sys};
use cudarc::nvrtc::{CompileOptions, compile_ptx, compile_ptx_with_opts};

type Outcome = Result<(), Box<dyn Error>>;

const SOURCE: &str = r#"
extern "C" __global__ void scale(float* y, const float* x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = factor * x[i];
}
extern "C" __global__ void reverse(int* x) {
    extern __shared__ int s[];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
struct Pair { int a; double b; };
extern "C" __global__ void pair(Pair p, double* y) { *y = p.a + p.b; }
"#;

fn function(context: &Arc<CudaContext>, name: &str) -> Result<CudaFunction, Box<dyn Error>> {
    let module = context.load_module(compile_ptx(SOURCE)?)?;
    Ok(module.load_function(name)?)
}

fn check(condition: bool, message: &str) -> Outcome {
    condition.then_some(()).ok_or_else(|| message.into())
}

fn copies(context: &Arc<CudaContext>) -> Outcome {
    let stream = context.default_stream();
    let values: Vec<u32> = (0..1000).collect();
    let a = stream.clone_htod(&values)?;
    let mut b = stream.alloc_zeros::<u32>(1000)?;
    stream.memcpy_dtod(&a, &mut b)?;
    check(stream.clone_dtoh(&b)? == values, "the copy differs")?;
    let part = stream.clone_dtoh(&b.slice(10..20))?;
    check(part == values[10..20], "the slice differs")
}

fn launches(context: &Arc<CudaContext>) -> Outcome {
    let stream = context.default_stream();
    let scale = function(context, "scale")?;
    let x: Vec<f32> = (0..777u16).map(f32::from).collect();
    let input = stream.clone_htod(&x)?;
    let mut output = stream.alloc_zeros::<f32>(x.len())?;
    let (factor, count) = (2.5f32, 777i32);
    let mut launch = stream.launch_builder(&scale);
    launch.arg(&mut output).arg(&input).arg(&factor).arg(&count);
    // SAFETY: the arguments are those of the kernel.
    unsafe { launch.launch(LaunchConfig::for_num_elems(777)) }?;
    let expected: Vec<f32> = x.iter().map(|value| 2.5 * value).collect();
    check(
        stream.clone_dtoh(&output)? == expected,
        "the result differs",
    )
}

fn shared_memory(context: &Arc<CudaContext>) -> Outcome {
    let stream = context.new_stream()?;
    let reverse = function(context, "reverse")?;
    let mut x = stream.clone_htod(&(0..256).collect::<Vec<i32>>())?;
    let config = LaunchConfig {
        grid_dim: (1, 1, 1),
        block_dim: (256, 1, 1),
        shared_mem_bytes: 1024,
    };
    let mut launch = stream.launch_builder(&reverse);
    launch.arg(&mut x);
    // SAFETY: the arguments are those of the kernel.
    unsafe { launch.launch(config) }?;
    let expected: Vec<i32> = (0..256).rev().collect();
    check(stream.clone_dtoh(&x)? == expected, "the result differs")
}

fn structures(context: &Arc<CudaContext>) -> Outcome {
    #[repr(C)]
    #[derive(Copy, Clone)]
    struct Pair {
        a: i32,
        b: f64,
    }
    // SAFETY: the structure has the layout of that of the kernel.
    unsafe impl cudarc::driver::DeviceRepr for Pair {}

    let stream = context.default_stream();
    let pair = function(context, "pair")?;
    let mut y = stream.alloc_zeros::<f64>(1)?;
    let value = Pair { a: 3, b: 0.25 };
    let mut launch = stream.launch_builder(&pair);
    launch.arg(&value).arg(&mut y);
    // SAFETY: the arguments are those of the kernel.
    unsafe { launch.launch(LaunchConfig::for_num_elems(1)) }?;
    check(stream.clone_dtoh(&y)? == [3.25], "the result differs")
}

fn events(context: &Arc<CudaContext>) -> Outcome {
    let (first, second) = (context.new_stream()?, context.new_stream()?);
    let flags = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
    let start = first.record_event(flags)?;
    let values = first.clone_htod(&vec![7u8; 4096])?;
    let end = first.record_event(flags)?;
    second.wait(&end)?;
    check(
        second.clone_dtoh(&values)? == vec![7; 4096],
        "the copy differs",
    )?;
    end.synchronize()?;
    check(start.elapsed_ms(&end)? >= 0.0, "the time is negative")
}

fn threads(context: &Arc<CudaContext>) -> Outcome {
    let workers: Vec<_> = (1..4u32)
        .map(|number| {
            let context = Arc::clone(context);
            std::thread::spawn(move || -> Result<bool, String> {
                let text = |error: cudarc::driver::DriverError| error.to_string();
                context.bind_to_thread().map_err(text)?;
                let stream = context.new_stream().map_err(text)?;
                let values = stream.clone_htod(&vec![number; 500]).map_err(text)?;
                Ok(stream.clone_dtoh(&values).map_err(text)? == vec![number; 500])
            })
        })
        .collect();
    for worker in workers {
        let is_right = worker.join().map_err(|_| "a thread panicked")??;
        check(is_right, "the copy differs")?;
    }
    Ok(())
}

fn architectures(context: &Arc<CudaContext>) -> Outcome {
    let options = CompileOptions {
        arch: Some("compute_90"),
        ..Default::default()
    };
    let ptx = compile_ptx_with_opts(SOURCE, options)?;
    check(ptx.to_src().contains(".target sm_90"), "another target")?;
    context.load_module(ptx)?;
    Ok(())
}

fn errors(context: &Arc<CudaContext>) -> Outcome {
    let module = context.load_module(compile_ptx(SOURCE)?)?;
    check(
        module.load_function("missing").is_err(),
        "a missing function was found",
    )?;
    check(
        compile_ptx("not CUDA").is_err(),
        "a wrong source was compiled",
    )?;
    check(
        context.default_stream().alloc_zeros::<u8>(1 << 50).is_err(),
        "too much memory was allocated",
    )
}

const TESTS: [(&str, fn(&Arc<CudaContext>) -> Outcome); 8] = [
    ("copies", copies),
    ("launches", launches),
    ("shared_memory", shared_memory),
    ("structures", structures),
    ("events", events),
    ("threads", threads),
    ("architectures", architectures),
    ("errors", errors),
];

fn main() -> ExitCode {
    let mut failed = 0;
    for (name, test) in TESTS {
        match CudaContext::new(0)
            .map_err(Into::into)
            .and_then(|context| test(&context))
        {
            Ok(()) => println!("passed {name}"),
            Err(error) => {
                failed += 1;
                println!("failed {name}: {error}");
            }
        }
    }
    ExitCode::from(u8::from(failed > 0))
}
