"""Which measure would you use? Two or three for each task, with the reasons."""

from __future__ import annotations

from collections.abc import Mapping

from cranfield.base import Record


class Advice(Record):
    """What a task is, and the measures for it, each with the reason."""

    task: str
    measures: tuple[tuple[str, str], ...]


ADVICE: Mapping[str, Advice] = {
    "known-item": Advice(
        "One document is wanted: a page seen before, the answer to a question.",
        (
            ("RR", "How far down the first right document is; everything after it is rightly ignored."),
            ("Success@10", "Whether it is on the first page at all: easy to say aloud, steadier than RR."),
        ),
    ),
    "web": Advice(
        "People look at the first page of results and no further.",
        (
            ("nDCG@10", "Grades count, and the first ranks count most."),
            ("P@10", "How many of the ten are relevant; no rank and no grade to explain."),
            ("RR", "For the many queries that look for one site: see known-item."),
        ),
    ),
    "recall": Advice(
        "All of them are wanted: patents, law, systematic reviews, the input of a reranker.",
        (
            ("R@1000", "What share of the relevant documents the first thousand hold; set k to what can be read."),
            ("AP", "Rewards every relevant document found, early ones most; 0.1 more is more of them, sooner."),
            ("Rprec", "Precision where it equals recall: one cutoff that suits every query."),
        ),
    ),
    "graded": Advice(
        "Judgments tell fair from excellent documents.",
        (
            ("nDCG@10", "Each grade earns its gain, discounted by rank, as a share of the best ranking's."),
            ("DCG@10", "The same without the share: queries with much to find count more."),
            ("nDCG(gain='exp')@10", "If one excellent document is worth several good ones."),
        ),
    ),
    "incomplete": Advice(
        "Many retrieved documents have no judgment: the system was not in the pool.",
        (
            ("Bpref", "Looks only at the order of judged documents; unjudged ones neither help nor hurt."),
            ("Judged@10", "Not quality, but how far the others can be trusted. Report it beside them."),
            ("nDCG(judged_only=True)@10", "nDCG of the list without unjudged documents: closer to complete judgments."),
        ),
    ),
    "diversity": Advice(
        "A query has several meanings or aspects, and repeating one does not help.",
        (
            ("alpha_nDCG@10", "Each further document on a subtopic already covered earns less."),
            ("ERR_IA@10", "For each subtopic, all equally likely, a user who stops when content with what was read."),
            ("StRecall@10", "What share of the subtopics the first ten cover; order and repeats do not matter."),
        ),
    ),
    "rag": Advice(
        "A language model reads the first k passages and writes the answer.",
        (
            ("R@5", "What is not among the k passages cannot be in the answer; set k to what the prompt holds."),
            ("Success@5", "Whether there is any passage to answer from."),
            ("nDCG@5", "If passages are graded, or their order in the prompt matters."),
        ),
    ),
}
