"""Three solvers: `Newton` (default), `Accelerated` (the paper's) and `SDP` (CVXPY)."""

from sosbands.core.solvers.accelerated import Accelerated
from sosbands.core.solvers.base import Candidate, Clock, Solver
from sosbands.core.solvers.newton import Newton
from sosbands.core.solvers.sdp import SDP
from sosbands.core.solvers.solution import Certificate, Solution, Status

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
