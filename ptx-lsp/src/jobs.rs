//! Jobs: slow requests that are answered on other threads, while the thread of the server answers others.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use ptx_vm::Progress;
use serde_json::Value;

use crate::message::{Answer, Failure, code};

/// The maximum number of jobs that run at the same time.
const MAX_RUNNING: usize = 4;

/// Wakes the thread that serves the client after a job sent its answer.
pub(crate) type Wake = Arc<dyn Fn() + Send + Sync>;

/// The id of a request and its answer.
type IdAndAnswer = (Value, Answer);

/// The running jobs, and the channel on which they send their answers.
pub(crate) struct Jobs {
    wake: Wake,
    /// The id of each request, and the progress by which its job is canceled.
    running: Vec<(Value, Arc<Progress>)>,
    sender: Sender<IdAndAnswer>,
    receiver: Receiver<IdAndAnswer>,
}

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.running).finish()
    }
}

impl Jobs {
    pub(crate) fn new(wake: Wake) -> Self {
        let (sender, receiver) = mpsc::channel();
        Self {
            wake,
            running: Vec::new(),
            sender,
            receiver,
        }
    }

    /// Starts a thread that answers the request `id` by `job`. Fails if too many jobs are running.
    pub(crate) fn start(
        &mut self,
        id: &Value,
        job: impl FnOnce(&Progress) -> Answer + Send + 'static,
    ) -> Result<(), Failure> {
        if self.running.len() >= MAX_RUNNING {
            let message = format!("{MAX_RUNNING} kernels are running; wait for one, or cancel it");
            return Err(Failure::new(code::REQUEST_FAILED, message));
        }
        let progress = Arc::new(Progress::default());
        let (sender, wake) = (self.sender.clone(), Arc::clone(&self.wake));
        let (request, job_progress) = (id.clone(), Arc::clone(&progress));
        let spawned = thread::Builder::new().name("kernel".into()).spawn(move || {
            // A panic in the virtual machine is a defect, but it must not end the server.
            let answer =
                catch_unwind(AssertUnwindSafe(|| job(&job_progress))).unwrap_or_else(|_| {
                    let message = "the machine failed unexpectedly";
                    Err(Failure::new(code::REQUEST_FAILED, message))
                });
            if sender.send((request, answer)).is_ok() {
                wake();
            }
        });
        spawned.map_err(|error| Failure::new(code::REQUEST_FAILED, error.to_string()))?;
        self.running.push((id.clone(), progress));
        Ok(())
    }

    /// Asks a job to stop. It then answers its request with an error.
    pub(crate) fn cancel(&self, id: &Value) {
        for (running, progress) in &self.running {
            if running == id {
                progress.cancel();
            }
        }
    }

    /// Returns the answers of the jobs that finished since the last call.
    pub(crate) fn finished(&mut self) -> Vec<IdAndAnswer> {
        let answers: Vec<_> = self.receiver.try_iter().collect();
        for (id, _) in &answers {
            self.running.retain(|(running, _)| running != id);
        }
        answers
    }

    /// Waits for the answers of all jobs, for at most `time`. Jobs that are running then are canceled, and an error answers their requests.
    pub(crate) fn end(&mut self, time: Duration) -> Vec<IdAndAnswer> {
        let deadline = Instant::now() + time;
        let mut answers = self.finished();
        while !self.running.is_empty() {
            let timeout = deadline.saturating_duration_since(Instant::now());
            let Ok((id, answer)) = self.receiver.recv_timeout(timeout) else {
                break;
            };
            self.running.retain(|(running, _)| *running != id);
            answers.push((id, answer));
        }
        for (id, progress) in self.running.drain(..) {
            progress.cancel();
            let failure = Failure::new(code::REQUEST_CANCELLED, "cancelled");
            answers.push((id, Err(failure)));
        }
        answers
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.running
            .iter()
            .for_each(|(_, progress)| progress.cancel());
    }
}
