"""How the vectors of the `static` embedding were made: functions of packages, questions about them, training."""
