r"""The privacy of a channel
chapter: channel_matrix

A channel has one row a value and one column a report. How large is the likelihood ratio between two values, at most? The
page goes through all pairs of values and all *sets* of reports, as the definition of $\varepsilon$-LDP asks.
"""


# formula
def ratio(channel):
    return max(max(column) / min(column) for column in zip(*channel, strict=True))


# mistake: compares the reports of one value, not the values of one report
def ratio(channel):
    return max(max(row) / min(row) for row in channel)


# mistake: looks at the first report only
def ratio(channel):
    column = [row[0] for row in channel]
    return max(column) / min(column)


# exact
CHANNELS = {
    "randomized response, e^ε = 3": [[F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)]],
    "asymmetric": [[F(1, 2), F(1, 2)], [F(1, 5), F(4, 5)]],
    "three values": [
        [F(1, 2), F(1, 3), F(1, 6)],
        [F(1, 4), F(1, 2), F(1, 4)],
        [F(1, 3), F(1, 6), F(1, 2)],
    ],
}


def cases():
    for name, channel in CHANNELS.items():
        worst = F(0)
        for chosen in product((0, 1), repeat=len(channel[0])):
            sums = [
                sum(x for x, used in zip(row, chosen, strict=True) if used)
                for row in channel
            ]
            if any(sums):
                worst = max(worst, max(sums) / min(sums))
        yield name, worst, ratio(channel)
