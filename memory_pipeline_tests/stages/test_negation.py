"""Which quotes the clause around them denies, and which negations leave them alone.

Belongs here: whole sentences with a quote that was cut out of them. Does not: what becomes of a
denied fact (test_quote_doubts).
"""

import pytest

from memory_pipeline.stages.evidence import find_evidence
from memory_pipeline.stages.negation import is_denied
from memory_pipeline_tests.stages.model_doubles import message


def _is_denied(text: str, quote: str, statement: str) -> bool:
    evidence = find_evidence(quote, [message(0, text)])
    assert evidence is not None
    predicate, value = statement.split(" | ")
    return is_denied(text, evidence, predicate, value)


@pytest.mark.parametrize(
    ("text", "quote", "statement"),
    [
        (
            "I never said that I live in Rome, and I don't own a car",
            "I live in Rome",
            "lives in | rome",
        ),
        ("I never said that I live in Rome, and I don't own a car", "own a car", "owns | car"),
        ("I never said I live in Rome", "live in Rome", "lives in | rome"),
        ("I don't like strong tea.", "like strong tea", "likes | tea"),
        ("I don\u2019t think I like tea", "I like tea", "likes | tea"),
        ("It's not true that I work at Acme", "I work at Acme", "works at | acme"),
        ("No way I own a boat", "I own a boat", "owns | boat"),
        ("I have never ever lived in Rome", "lived in Rome", "lives in | rome"),
        ("My brother doesn't own a car", "own a car", "owns | car"),
        ("I never claimed that Nora lives in Bergen", "Nora lives in Bergen", "lives in | bergen"),
        ("I do not have a dog", "have a dog", "has dog | dog"),
        ("Nobody in my family speaks Dutch", "speaks Dutch", "speaks | dutch"),
        ("I don't eat meat, fish, or eggs", "fish", "eats | fish"),
        ("I don't eat meat, fish, or eggs", "eggs", "eats | eggs"),
        ("Neither my wife nor I eat meat", "I eat meat", "eats | meat"),
        ("I don't know if I like tea", "I like tea", "likes | tea"),
        ("I'm not sure whether I work at Acme", "I work at Acme", "works at | acme"),
        ("I can't say that I play chess", "I play chess", "plays | chess"),
        ("That's not my car", "my car", "owns | car"),
        ("I live in Rome no longer", "I live in Rome", "lives in | rome"),
        ("Ich mag Tee nicht", "Ich mag Tee", "likes | tee"),
        ("Ich wohne nicht in Rom", "in Rom", "lives in | rom"),
        ("Ich habe nie gesagt, dass ich in Rom wohne", "ich in Rom wohne", "lives in | rom"),
        ("Ich wohne schon lange nicht mehr in Rom", "in Rom", "lives in | rom"),
        ("No vivo en Roma", "vivo en Roma", "lives in | roma"),
        ("Je n'ai jamais dit que j'habite à Rome", "j'habite à Rome", "lives in | rome"),
        ("Non vivo a Roma", "vivo a Roma", "lives in | roma"),
        ("Ik woon niet in Rome", "in Rome", "lives in | rome"),
        ("Я не живу в Риме", "живу в Риме", "lives in | рим"),
        ("我不住在北京", "住在北京", "lives in | 北京"),
        ("東京に住んでいません", "東京に住んで", "lives in | 東京"),
        ("I live without a car in Rome", "a car", "owns | car"),
        ("I have no kids", "kids", "has child | kids"),
        ("I don't drink or smoke", "smoke", "does | smoking"),
        ("I never said I don't eat meat", "I don't eat meat", "does not eat | meat"),
        ("I don't have my own car", "my own car", "owns | car"),
        ("I don't live in Rome any more", "live in Rome", "lives in | rome"),
    ],
)
def test_a_quote_is_denied_by_the_negation_it_was_cut_from(
    text: str, quote: str, statement: str
) -> None:
    assert _is_denied(text, quote, statement)


@pytest.mark.parametrize(
    ("text", "quote", "statement"),
    [
        ("I live in Rome, not Milan", "I live in Rome", "lives in | rome"),
        ("I not only live in Rome, I also work here", "live in Rome", "lives in | rome"),
        ("No doubt I love tea", "I love tea", "likes | tea"),
        ("I can't wait to start at Acme", "start at Acme", "works at | acme"),
        ("Don't forget that I live in Rome", "I live in Rome", "lives in | rome"),
        (
            "please don't forget I am allergic to nuts",
            "I am allergic to nuts",
            "is allergic to | nuts",
        ),
        ("No, I live in Rome", "I live in Rome", "lives in | rome"),
        ("no I live in Rome", "I live in Rome", "lives in | rome"),
        ("I don't smoke but I drink wine", "I drink wine", "drinks | wine"),
        ("I don't smoke and I drink wine", "drink wine", "drinks | wine"),
        ("I can't come because I work at Acme", "work at Acme", "works at | acme"),
        ("I can't believe I live in Rome now", "I live in Rome", "lives in | rome"),
        ("I don't like my job at Acme", "my job at Acme", "works at | acme"),
        ("I never sold my Golf", "my Golf", "owns | golf"),
        ("I don't eat meat", "eat meat", "does not eat | meat"),
        ("I can't have gluten", "have gluten", "is intolerant to | gluten"),
        ("Nobody knows that I play chess", "I play chess", "plays | chess"),
        ("I don't regret that I moved to Rome", "I moved to Rome", "lives in | rome"),
        ("I never miss yoga", "yoga", "does | yoga"),
        ("I can't live without coffee, I love it", "I love it", "likes | coffee"),
        ("I have not been to Paris since I moved to Rome", "moved to Rome", "lives in | rome"),
        ("I don't mind that I live in Rome", "I live in Rome", "lives in | rome"),
        ("Didn't I say that I live in Rome?", "I live in Rome", "lives in | rome"),
        ("What? no, I never said that, I love flying", "I love flying", "likes | flying"),
        (
            "Nora is not in Bergen, I was wrong, she lives in Stavanger",
            "she lives in Stavanger",
            "lives in | stavanger",
        ),
        ("I don't know why I love tea so much", "I love tea", "likes | tea"),
        ("I did not move to Rome until 2019", "move to Rome until 2019", "lives in | rome"),
        ("Ich bin seit Mai in Rom", "in Rom", "lives in | rom"),
        ("Ich hab ne Katze", "Katze", "has cat | katze"),
        ("Ich rauche nicht und trinke gern Wein", "trinke gern Wein", "drinks | wein"),
        ("Ich lebe ohne Hund in Rom", "in Rom", "lives in | rom"),
        ("I like tea but not coffee", "I like tea", "likes | tea"),
        ("I've never been happier living in Rome", "living in Rome", "lives in | rome"),
        ("Not sure about dinner. I live in Rome", "I live in Rome", "lives in | rome"),
        ("I have no idea what to cook, I am vegan", "I am vegan", "is | vegan"),
        ("You know I live in Rome, don't you?", "I live in Rome", "lives in | rome"),
        ("no problem, I work at Acme anyway", "I work at Acme", "works at | acme"),
        ("I don't only play chess", "play chess", "plays | chess"),
        ("I never told Anna that I live in Rome", "I live in Rome", "lives in | rome"),
        ("我住在北京\uff0c不是上海", "我住在北京", "lives in | 北京"),
        ("Not long ago I moved to Rome", "moved to Rome", "lives in | rome"),
        ("I don't own the flat that I rent in Rome", "I rent in Rome", "rents flat in | rome"),
        ("Without doubt I work at Acme", "I work at Acme", "works at | acme"),
        ("I do not live with my sister Nora", "my sister Nora", "has sister | nora"),
        ("I don't own most of my books", "my books", "owns | books"),
        ("I don't just like tea", "like tea", "likes | tea"),
    ],
)
def test_a_negation_of_something_else_denies_nothing(text: str, quote: str, statement: str) -> None:
    assert not _is_denied(text, quote, statement)
