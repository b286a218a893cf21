"""Every mechanism of the library, in one list: those of one attribute, then those of several."""

import ldp_lib

_NAMES = """RR GRR SUE OUE UnaryEncoding OLH SubsetSelection JRR KJRR SignedRR ServerProtocol ShuffleProtocol JointUnary
JointHashing OneQuestion AskSome SPL BRR MRR OBRR OMRR SecondPhase CorrRR CondRR
RSFD RSRFD TwoPhaseRSRFD Plurality RRIndependent RRJoint RRClusters ProductRR"""

MECHANISMS = [getattr(ldp_lib, name) for name in _NAMES.split()]
