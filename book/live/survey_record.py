r"""What one report of six answers says about 64 records
chapter: real_survey_privacy

An invented report: yes to copied, bullied and sex. With a fair card for each of six questions, 12 months, 30 days and 10 last digits
there are 230,400 equally probable cases. How many of them lead from each of the 64 records to this report? `agree` says for each question
whether the record's answer is the report's, `alone` how probable it is that the innocuous answer is the report's, and `together`, for
a pair of questions about months, digits or days, how probable it is that both are. Each line of the table has the eight records
that begin with the same three answers.
"""


# mistake: question by question, as if all innocuous answers were independent
def likelihood(agree, alone, together):
    found = F(1)
    for same, innocuous in zip(agree, alone, strict=True):
        found *= (same + innocuous) / 2
    return found


# right: pair by pair
def likelihood(agree, alone, together):
    found = F(1)
    for (i, j), both in together.items():
        mixed = agree[i] * alone[j] + agree[j] * alone[i]
        found *= (agree[i] * agree[j] + mixed + both) / 4
    return found


# numbers
REPORT = 1, 0, 1, 0, 0, 1  # copied, fought, bullied, bullying, drug, sex


# exact
PAIRS = (0, 5), (1, 3), (2, 4)  # months, last digits, days


OFTEN = {}  # innocuous answers -> in how many of 3,600 cases
for m, d, g in product(range(1, 13), range(1, 31), range(10)):
    found = m == 7, g == 2, d <= 20, g == 5, 15 <= d <= 25, m == 4
    OFTEN[found] = OFTEN.get(found, 0) + 1


def innocuous(report):
    def probability(*questions):
        times = (
            n
            for found, n in OFTEN.items()
            if all(found[j] == report[j] for j in questions)
        )
        return F(sum(times), 3600)

    return [probability(j) for j in range(6)], {
        pair: probability(*pair) for pair in PAIRS
    }


def agreement(record, report):
    return [int(x == y) for x, y in zip(record, report, strict=True)]


def cases():
    known = innocuous(REPORT)
    for head in product((0, 1), repeat=3):
        exact, yours = [], []
        for tail in product((0, 1), repeat=3):
            agree, total = agreement(head + tail, REPORT), 0
            for found, times in OFTEN.items():
                for same, other in zip(
                    agree, agreement(found, REPORT), strict=True
                ):
                    times *= (
                        same + other
                    )  # sides of the card that lead to the report
                total += times
            exact.append(total)
            yours.append(230_400 * likelihood(agree, *known))
        yield "records " + "".join(map(str, head)) + "...", exact, yours
