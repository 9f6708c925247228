"""Three solvers: `Newton` (default), `Accelerated` (the paper's) and `SDP` (CVXPY)."""

from sosbands.solvers.accelerated import Accelerated
from sosbands.solvers.base import Candidate, Certificate, Clock, Solution, Solver, Status
from sosbands.solvers.newton import Newton
from sosbands.solvers.sdp import SDP

__all__ = [
    "SDP",
    "Accelerated",
    "Candidate",
    "Certificate",
    "Clock",
    "Newton",
    "Solution",
    "Solver",
    "Status",
]
