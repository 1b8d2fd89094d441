"""What a training's values are called to Prometheus, by the training itself and by a service."""

from __future__ import annotations

# The name of a value in a run → the name and the words of its gauge.
TRAINING_VALUES: dict[str, tuple[str, str]] = {
    "loss": ("loss", "Loss of the last step."),
    "loss_smoothed": ("loss_smoothed", "Exponential mean of the loss."),
    "perplexity": ("perplexity", "exp(loss) of a language model."),
    "lr": ("learning_rate", "Learning rate."),
    "grad_norm": ("grad_norm", "L2 norm of all gradients."),
    "grad_cv": ("grad_cv", "Standard deviation over mean of the last 50 gradient norms."),
    "samples_per_second": ("samples_per_second", "Training throughput."),
    "step_seconds": ("step_seconds", "Seconds a step takes."),
    "data_wait": ("data_wait_ratio", "Share of the time in which data are waited for."),
}
