"""Tutorial: how long an exchange of halos takes on a simulated machine, by the latency of its cables: a sweep, a table and a plot."""

import sys

import pelago

LATENCIES_NS = [10, 100, 500, 1000, 2000]
PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "heat.py"


def main() -> None:
    rows = []
    for ranks in (4, 16):
        for latency in LATENCIES_NS:
            report = pelago.simulate(PROGRAM, "rx200-qdr", ranks=ranks, settings={"rail.link.cable_ns": latency})
            rows.append({"ranks": ranks, "cable_ns": latency, "time_us": report["job"]["end_ps"] / 1e6})
    print(f"{'ranks':>5} {'cable_ns':>8} {'time_us':>10}")
    for row in rows:
        print(f"{row['ranks']:5} {row['cable_ns']:8} {row['time_us']:10.1f}")

    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError:
        print("no plot: matplotlib is not installed")
        return
    for ranks in (4, 16):
        chosen = [row for row in rows if row["ranks"] == ranks]
        plt.plot([row["cable_ns"] for row in chosen], [row["time_us"] for row in chosen], marker="o", label=f"{ranks} ranks")
    plt.xlabel("latency of a cable in ns")
    plt.ylabel("virtual time in µs")
    plt.legend()
    plt.savefig("sweep.svg")
    print("plot in sweep.svg")


main()
