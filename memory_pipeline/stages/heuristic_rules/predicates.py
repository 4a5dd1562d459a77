"""Canonical predicates: present tense, lower case, preposition folded in.

What belongs here: inflection, the small table of frequent life facts on top of the general rule,
closed lists of verbs that never leave a durable fact. What does not: the parse (clauses).
"""

from __future__ import annotations

from dataclasses import dataclass

from memory_pipeline.domain.extraction import EntityType, MemoryCategory

_ORG, _PLACE, _PERSON = EntityType.ORG, EntityType.PLACE, EntityType.PERSON
_ROLE, _SKILL, _PRODUCT = EntityType.ROLE, EntityType.SKILL, EntityType.PRODUCT
_FOOD, _TOPIC = EntityType.FOOD, EntityType.TOPIC


@dataclass(frozen=True)
class Rule:
    """What a verb (with particle and preposition) is called in memory.

    `after` says what a past tense leaves: a `state` that holds since, an `ended` state, or None
    when a past event of this verb is over and leaves nothing.
    """

    predicate: str
    type: EntityType | None = None
    after: str | None = None


def _rules(text: str, predicate: str, kind: EntityType | None, after: str | None) -> dict[str, Rule]:
    return {key: Rule(predicate, kind, after) for key in text.split("|")}


RULES: dict[str, Rule] = {
    **_rules("work at|work for|be employed at|be employed by|freelance for", "works at", _ORG, "ended"),
    **_rules(
        "start at|hire by|start work at|start with|join|employ by|recruit by|hire at|"
        "accept job at|take job at|get job at|land job at|start job at|begin job at|begin at|"
        "have job at|get position at|accept offer from|get offer from|hire as at",
        "works at", _ORG, "state",
    ),
    **_rules("work as|be employed as|serve as|freelance as", "works as", _ROLE, "ended"),
    **_rules("start as|hire as|promote to|become|start work as|start job as|promote", "works as", _ROLE, "state"),
    **_rules("live in|reside in|be based in|base in|live on|base out of|base at", "lives in", _PLACE, "ended"),
    **_rules("live at", "lives at", _PLACE, "ended"),
    **_rules("live with", "lives with", None, "ended"),
    **_rules(
        "move to|relocate to|settle in|move into|move back to|settle down in|move over to|"
        "emigrate to|immigrate to|move in",
        "lives in", _PLACE, "state",
    ),
    **_rules("move in with", "lives with", None, "state"),
    **_rules("come from|hail from|be from|be originally from", "is from", _PLACE, None),
    **_rules("bear in", "was born in", _PLACE, "state"),
    **_rules("bear on", "has birthday", None, "state"),
    **_rules("grow up in|raise in|be raised in", "grew up in", _PLACE, "state"),
    **_rules("grow up on", "grew up on", None, "state"),
    **_rules("grow up speak", "speaks", _SKILL, "state"),
    **_rules("drive", "drives", _PRODUCT, None),
    **_rules("own|possess", "owns", None, None),
    **_rules("buy|purchase|inherit|acquire|get myself|pick up|treat myself to", "owns", None, "state"),
    **_rules("adopt|rescue|foster", "has", None, "state"),
    **_rules("marry|be married to|get married to|wed|tie knot with", "is married to", _PERSON, "state"),
    **_rules("get engaged to|be engaged to|propose to", "is engaged to", _PERSON, "state"),
    **_rules("date|see someone|go out with|be dating", "is dating", _PERSON, None),
    **_rules("start date|begin date", "is dating", _PERSON, "state"),
    **_rules("like|be fond of|be keen on|be into|be a fan of|be fan of|be big on", "likes", None, None),
    **_rules("love|adore|be obsessed with|be passionate about|be crazy about|obsess with", "loves", None, None),
    **_rules("enjoy|be keen on", "enjoys", None, None),
    **_rules("fall in love with|get into|get hooked on", "likes", None, "state"),
    **_rules("not like|dislike|detest|not stand|can not stand|not enjoy|not care for|loathe|"
             "not bear|can not bear|not love|despise|be not a fan of|be not fan of|be not into|"
             "be not fond of|be not keen on|not tolerate|be sick of", "dislikes", None, None),
    **_rules("hate|can not abide", "hates", None, None),
    **_rules("prefer", "prefers", None, None),
    **_rules("study|be studying|read for|major in|be major in", "studies", _TOPIC, "ended"),
    **_rules("study at|go to school at|attend|be enrolled at|be student at|go to university at|"
             "enroll at|enrol at|enroll in|enrol in", "studies at", _ORG, "ended"),
    **_rules("start study", "studies", _TOPIC, "state"),
    **_rules("start at university", "studies at", _ORG, "state"),
    **_rules("graduate from", "graduated from", _ORG, "state"),
    **_rules("graduate in|graduate with", "graduated in", None, "state"),
    **_rules("learn|take up|teach myself|pick up as", "learns", _SKILL, None),
    **_rules("start learn|begin learn|take up|start practice", "learns", _SKILL, "state"),
    **_rules("speak|be fluent in|be bilingual in", "speaks", _SKILL, None),
    **_rules("play", "plays", None, None),
    **_rules("start play|take up play", "plays", None, "state"),
    **_rules("play for", "plays for", _ORG, "ended"),
    **_rules("teach", "teaches", _TOPIC, "ended"),
    **_rules("teach at", "teaches at", _ORG, "ended"),
    **_rules("volunteer at|volunteer for|volunteer with", "volunteers at", _ORG, "ended"),
    **_rules("be allergic to", "is allergic to", None, None),
    **_rules("be intolerant to|be intolerant of", "is intolerant to", None, None),
    **_rules("suffer from|struggle with|diagnose with|be diagnosed with|be diagnosed as", "has", None, "state"),
    **_rules("visit|travel to|be to|go to|fly to", "has visited", _PLACE, None),
    **_rules("found|co-found|cofound|start company|set up", "founded", _ORG, "state"),
    **_rules("publish", "has published", None, "state"),
    **_rules("win", "has won", None, "state"),
    **_rules("switch to|change to|convert to|upgrade to|migrate to", "uses", None, "state"),
    **_rules("use", "uses", None, None),
    **_rules("subscribe to", "subscribes to", None, "state"),
    **_rules("sign up for", "is signed up for", None, "state"),
    **_rules("enroll in|enrol in|be enrolled in", "is enrolled in", None, "state"),
    **_rules("retire from", "is retired from", None, "state"),
    **_rules("be member of|belong to|be part of", "is member of", _ORG, None),
    **_rules("train for", "trains for", None, None),
    **_rules("work on", "works on", None, None),
    **_rules("be afraid of|be scared of|be terrified of|fear|be phobic of", "is afraid of", None, None),
    **_rules("name after", "is named after", None, "state"),
    **_rules("complete|finish|earn|receive", "has completed", None, None),
    **_rules("support|root for|be fan", "supports", None, None),
    **_rules("not eat|avoid eat|can not eat|avoid|not touch|not consume", "does not eat", None, None),
    **_rules("not drink|can not drink", "does not drink", None, None),
    **_rules("report to", "reports to", _PERSON, None),
    **_rules("weigh", "weighs", None, None),
    **_rules("go by", "has name", None, None),
}  # fmt: skip

# Verbs whose plain present says how things stand right now, or what is said, not what lasts.
FLEETING = frozenset(
    """think feel guess suppose say mean see know hope wish wonder remember forget agree disagree
    appreciate recommend suggest understand realize realise notice doubt believe bet assume hear
    thank ask tell talk look seem sound appear need try let help happen find imagine promise swear
    admit excuse apologize apologise miss welcome congratulate respect trust honor deserve wait
    hang stop start begin end continue keep get come go give put make do take bring show send
    share call check mention add want eat drink sleep relax wake sit stand stay leave arrive
    return finish laugh cry smile die lose cherish value count prove matter reckon figure fear
    regret expect consider handle face deal accept choose decide recall picture owe lie cook_now
    hold set turn pass reach open close break fall push pull hit catch throw laugh spend convey
    struggle learn_now motivate inspire encourage strive thrive cheer glad embrace highlight""".split()
)
# The fleeting verbs that a second word makes durable, or a habit marker.
HABIT_MARKERS = frozenset(
    """every usually always often regularly weekly daily monthly mostly typically normally
    generally sometimes rarely never nightly currently nowadays twice religiously still""".split()
)
# Going on now, yet over in an hour: these need more than a progressive.
FLEETING_PROGRESSIVE = FLEETING | frozenset(
    "have be use enjoy love like run walk drive watch play listen write_now sing sit chat type "
    "hunt shop pack head cook bake celebrate host clean visit hang debug fix feel kid joke "
    "freak stress worry dread celebrate text email message meet wrap catch enjoy rush".split()
)
DURABLE_PROGRESSIVE = frozenset(
    """learn study train work build write plan prepare save move date teach develop renovate
    research start join take switch practice practise raise run apply build grow recover expect
    consult freelance intern volunteer live rent read marry organise organize attend launch lead
    manage transition translate compose restore pursue look""".split()
)
# Past events that are worth keeping though no state of the table follows from them.
LASTING_EVENTS = frozenset(
    """publish win write found launch build climb complete earn author invent design compose
    record release break tear fracture undergo""".split()
)
EMPTY_OBJECTS = frozenset(
    """it that this these those them him her you me us he she they one ones thing things something
    anything nothing everything stuff lot lots bit way ways time times day days fun idea ideas
    question questions problem issue help look sense point feeling feelings word words moment
    moments chance rest kind kinds sort part everyone everybody someone somebody anyone anybody
    nobody people guy guys yourself yourselves myself ourselves himself herself people sound
    support love luck news advice tip tips recommendation recommendations suggestion pleasure
    while attention reason fact case energy progress future present past life journey message
    answer reply response conversation chat difference mind trouble course so much more most
    what who which whom some all both each any none other others another same doubt need
    thanks break decision effort break eye eyes glimpse blast hour hours minute minutes
    weekend morning evening afternoon night week month year today tomorrow yesterday
    meeting call experience memories memory smile impact plans choice deadline hand hands
    headache cold clue say faith confidence courage trip blessing joy inspiration cure hope
    view appreciation opportunity opportunities challenge challenges story stories ton tons
    bunch couple step steps stage place places list room min sec min""".split()
)
ALLOWED_FLEETING_STATES = frozenset(
    """vegetarian vegan pescatarian celiac coeliac diabetic asthmatic colorblind colourblind
    left-handed right-handed ambidextrous single married divorced widowed engaged pregnant
    retired unemployed self-employed deaf blind autistic dyslexic bipolar epileptic anemic
    introverted extroverted introvert extrovert gay lesbian bisexual transgender trans queer
    nonbinary non-binary straight catholic muslim jewish buddhist hindu christian atheist
    agnostic lactose-intolerant gluten-free sober teetotal bilingual trilingual hypertensive
    gluten-intolerant lactose gluten-intolerant short-sighted nearsighted farsighted kosher halal
    american british irish french german spanish italian dutch polish indian chinese japanese
    korean brazilian canadian australian mexican russian turkish portuguese greek swedish danish
    norwegian finnish swiss austrian nigerian kenyan egyptian pakistani vietnamese ukrainian
    scottish welsh english belgian czech hungarian romanian filipino colombian chilean
    argentinian peruvian ghanaian ethiopian moroccan israeli iranian lebanese thai indonesian
    malaysian singaporean divorced separated freelance tall""".split()
)
_THIRD = {"be": "is", "have": "has", "do": "does", "go": "goes", "can": "can"}


def third_person(lemma: str) -> str:
    """The third person singular of a verb's base form."""
    if lemma in _THIRD:
        return _THIRD[lemma]
    if lemma.endswith("y") and lemma[-2:-1] not in set("aeiou"):
        return lemma[:-1] + "ies"
    return lemma + ("es" if lemma.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


_IDENTITY = (
    "has name", "has age", "has birthday", "lives", "works", "is from", "was born", "grew up",
    "is married", "is engaged", "has sister", "has brother", "has wife", "has husband", "has son",
    "has daughter", "has mother", "has father", "has nationality", "is allergic", "is named",
)  # fmt: skip
_KNOWLEDGE = ("speaks", "studies", "learns", "teaches", "graduated", "knows", "can ", "is fluent")


def category_of(predicate: str) -> MemoryCategory:
    """What kind of memory a predicate makes."""
    if predicate.startswith(_IDENTITY):
        return MemoryCategory.IDENTITY
    if predicate.startswith(_KNOWLEDGE):
        return MemoryCategory.KNOWLEDGE
    return MemoryCategory.CONTEXT
