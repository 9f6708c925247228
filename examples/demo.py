"""Learn a band on test case 1 and draw it: ``python examples/demo.py [picture.png]``."""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

from sosbands import BandProblem, Gaussian, Newton, Solution
from sosbands.datasets import Case, case


def draw(solution: Solution, truth: Case, path: Path) -> None:
    """Draw the learned mean and band over the data, and the true 99 % interval for comparison."""
    problem = solution.problem
    x = np.linspace(-1, 1, 500)[:, None]
    mean, half_width = solution.mean(x), solution.scale(x)
    oracle = truth.interval(x, 0.99)
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    axes.fill_between(
        x[:, 0],
        mean - half_width,
        mean + half_width,
        color="tab:blue",
        alpha=0.25,
        label="band m ± √f",
    )
    axes.plot(x, mean, color="tab:blue", label="mean m")
    axes.plot(x, oracle, color="black", lw=0.8, ls="--", label=["true 99 % interval", None])
    axes.scatter(problem.X, problem.y, s=8, color="tab:orange", zorder=3, label="training data")
    axes.set(
        xlabel="x", ylabel="y", title=f"Test case 1, n = {problem.n}: a hard band, not calibrated"
    )
    axes.legend(ncols=2)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main(picture: Path) -> None:
    """Solve, report, draw."""
    truth = case(1)
    X, y = truth.sample(200, random_state=0)
    problem = BandProblem.from_data(
        X,
        y,
        mean_kernel=Gaussian(0.15),
        scale_kernel=Gaussian(0.3),
        mean_bound=7.0,
        width_weight=10.0,
    )
    solution = Newton().solve(problem)
    certificate = solution.certificate
    print(f"status         {solution.status.name.lower()}: {solution.status.value}")
    print(f"objective      {certificate.primal_value:.6f}")
    print(f"certified gap  {certificate.gap:.1e}")
    print(f"active points  {certificate.active_rows} of {problem.n}")
    print(f"rank of A      {certificate.rank}")
    print(f"time           {1e3 * certificate.seconds['total']:.0f} ms")
    draw(solution, truth, picture)
    print(f"picture        {picture}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo.png"))
