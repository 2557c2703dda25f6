package main

// auditHelp is what "dpsql help audit" prints.
const auditHelp = `dpsql audit tries to refute the privacy that dpsql claims.

usage: dpsql audit [-runs N] [-confidence C] [-json]

It opens no database. It runs each mechanism N times on a small database D of its own and N times on
a neighbour D' that differs in one unit, of 1 row and of 4, with the samplers and the randomness that
answers are made with, and looks for an event that is more likely on one of the two than the claimed
epsilon and delta allow. For every mechanism it prints the claim, and a lower bound on epsilon that
the runs prove at the confidence C. A bound above the claim refutes it: VIOLATION.

  -runs N                        runs on each database, 1000 to 20000000 (120000: under a minute on two cores)
  -confidence C                  of all bounds together (0.999)
  -json                          one line of JSON, with the events found and the times

The event is chosen on one half of the runs and counted on the other; the bound is
ln((p - delta) / q) for the lower confidence limit p of its probability on one database and the upper
limit q on the other (Clopper and Pearson), in both directions. Where theory names the worst event, that
one is tried as well.

What it shows: that a violation is one. A correct dpsql is accused with probability 1 - C at most.

What it cannot show: that dpsql is private. One pair of databases a mechanism is tried, one setting, and
only events that happen in N runs: a leak of probability 1e-6, or one through running time, is not seen.
Nor does a bound far below its claim mean that the claim is loose: other databases may come nearer, and
claims by composition hold with room to spare. That dpsql is private is shown by the proofs that its
documentation cites; an audit guards against code that is not what was proved. The charging of the
budget and the reading of rows are not audited.

The exit status is 0, 1 when a claim is refuted or the audit fails, 2 for a wrong usage.
`
