"""Small invented conversations: who said what, when, and the questions about it.

Public question-answer pairs seldom have two people speaking about like things, so that a
model trained on them alone learns to ignore the speaker and the date. Here two speakers
draw from the same statements with different details; the question names one of them. Everything
is made from the templates below with a fixed seed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date, timedelta

NAMES = (
    "Caleb Nora Priya Marcus Elena Tom Aisha Diego Hannah Victor Mei Omar Ruth Felix Ingrid Jonas "
    "Leila Patrick Sofia Grace Anton Bianca Kwame Yuki Rosa Declan Amira Stefan Paula Nikhil Clara "
    "Hugo Zoe Ivan Farah Derek Lucia Simon Tara Walter Maya Kevin Alice Bruno Carmen Daniel Emma "
    "Gavin Helen Isaac Julia Karen Liam Monica Nathan Olivia Peter Quinn Rachel Samuel Teresa Ursula "
    "Vera William Xavier Yvonne Zach Angela Brian Chloe David Esther Frank Gloria Henry Irene Jack"
)
SLOTS: dict[str, str] = {
    "animal": "dog|cat|rabbit|parrot|hamster|turtle|horse|guinea pig|kitten|puppy|goldfish",
    "pet": "Biscuit|Shadow|Olive|Pepper|Mochi|Luna|Rusty|Clover|Pixel|Ginger|Bandit|Hazel",
    "place": "Lisbon|Kyoto|Iceland|Vermont|Oaxaca|Edinburgh|Marrakesh|Vancouver|Naples|Banff|Bali"
    "|Prague|New Orleans|Patagonia|Dublin|Hanoi|Seattle|Crete|Cape Town|the Grand Canyon",
    "hobby": "pottery|rock climbing|watercolor painting|salsa dancing|birdwatching|chess|archery"
    "|surfing|knitting|woodworking|beekeeping|photography|fencing|gardening|calligraphy|yoga",
    "instrument": "violin|cello|ukulele|drums|saxophone|piano|clarinet|banjo|flute|bass guitar",
    "job": "nurse|graphic designer|math teacher|paramedic|chef|software engineer|librarian"
    "|architect|bartender|physical therapist|journalist|electrician|flight attendant|accountant",
    "company": "Brightwell|Orchard Labs|Northgate|the city hospital|Fern & Co|Halcyon|Redwood Press"
    "|a small startup|the community college|Blue Harbor",
    "food": "lasagna|pad thai|sourdough bread|tamales|mushroom risotto|apple pie|dumplings|paella"
    "|banana bread|lentil soup|sushi|chocolate cake|falafel",
    "relative": "sister|brother|mom|dad|grandmother|cousin|aunt|uncle|niece|nephew|son|daughter",
    "friend": "Robin|Alex|Jamie|Morgan|Casey|Taylor|Jordan|Drew|Skyler|Reese|Avery|Logan",
    "event": "charity run|book fair|jazz festival|pride parade|food drive|science fair|art show"
    "|poetry reading|street market|film festival|cooking contest|neighborhood cleanup",
    "book": "Dune|Beloved|The Hobbit|Educated|Circe|Middlemarch|The Alchemist|Persuasion|Siddhartha",
    "film": "Spirited Away|Casablanca|Arrival|Amelie|The Matrix|Moonlight|Paddington|Inception",
    "sport": "tennis|basketball|soccer|volleyball|swimming|badminton|ice hockey|rowing|baseball",
    "injury": "sprained my ankle|broke my wrist|hurt my back|tore a ligament|burned my hand",
    "vehicle": "a used truck|an electric bike|a red convertible|a scooter|a camper van|a hybrid car",
    "subject": "marine biology|nursing|art history|computer science|psychology|law|economics|Spanish",
    "allergy": "peanuts|shellfish|pollen|gluten|cats|dairy|penicillin|bee stings",
    "gift": "a silver necklace|a vintage camera|a handmade quilt|a pair of headphones|a fountain pen"
    "|a telescope|a leather journal|concert tickets",
    "fear": "heights|spiders|flying|public speaking|deep water|the dark|thunderstorms",
    "goal": "run a marathon|open a bakery|write a novel|learn Italian|buy a house|start a podcast"
    "|adopt a child|volunteer abroad|get a pilot license|pay off my loans",
    "feeling": "proud|nervous|relieved|exhausted|grateful|excited|heartbroken|hopeful|anxious",
    "city": "Austin|Denver|Toronto|Chicago|Manchester|Boston|Portland|Sydney|Berlin|Oslo|Miami",
    "number": "two|three|four|five|six|seven|eight|ten|twelve",
    "color": "green|navy blue|yellow|purple|teal|orange|white|crimson",
    "shop": "bakery|flower shop|bookstore|coffee cart|vintage clothing store|bike repair shop",
}

# (statements of the speaker, questions). {N} is the speaker. A question never holds the slot
# that it asks for.
STATEMENTS: list[tuple[list[str], list[str]]] = [
    (
        [
            "I finally adopted a {animal}! We named it {pet}.",
            "Meet {pet}, the newest member of our family, the sweetest {animal} ever.",
        ],
        [
            "What is the name of {N}'s {animal}?",
            "What did {N} call the new pet?",
            "What kind of pet does {N} have?",
            "Who is {pet}?",
        ],
    ),
    (
        [
            "Last week I flew to {place} with my {relative}. The views were unreal.",
            "Just got back from {place}, my {relative} came along and we walked everywhere.",
        ],
        [
            "Where did {N} travel with a family member?",
            "Who went to {place} with {N}?",
            "When did {N} visit {place}?",
            "What vacation did {N} take?",
        ],
    ),
    (
        [
            "I've been doing {hobby} every weekend, it helps me unwind.",
            "Lately {hobby} is my escape after work.",
        ],
        [
            "What does {N} do to relax?",
            "What are {N}'s hobbies?",
            "Does {N} enjoy {hobby}?",
            "How does {N} destress?",
        ],
    ),
    (
        [
            "I signed up for {instrument} lessons, first one is on Thursday.",
            "Guess who is learning the {instrument}? Me! My fingers hurt.",
        ],
        [
            "Which instrument is {N} learning?",
            "What musical skill did {N} take up?",
            "What lessons did {N} start?",
        ],
    ),
    (
        [
            "Big news, I got hired as a {job} at {company}!",
            "I start my new position at {company} on Monday, I'll be a {job}.",
        ],
        [
            "What does {N} do for a living?",
            "Where does {N} work?",
            "What is {N}'s new job?",
            "When did {N} get the job at {company}?",
        ],
    ),
    (
        [
            "I quit my job at {company}. It was draining me.",
            "Yesterday was my last day at {company}, I handed in my notice a month ago.",
        ],
        [
            "Why did {N} leave {company}?",
            "Which employer did {N} leave?",
            "When did {N} stop working at {company}?",
        ],
    ),
    (
        [
            "I made {food} from scratch tonight and it turned out great.",
            "Tried my {relative}'s recipe for {food}, the kitchen still smells amazing.",
        ],
        ["What dish did {N} cook?", "What recipe did {N} try?", "When did {N} make {food}?"],
    ),
    (
        [
            "My {relative} is visiting from {city} next month.",
            "My {relative} just moved to {city}, I already miss our dinners.",
        ],
        [
            "Which relative of {N} lives in {city}?",
            "Where does {N}'s {relative} live?",
            "Who from {N}'s family is connected to {city}?",
        ],
    ),
    (
        [
            "I volunteered at the {event} on Saturday, so many people showed up.",
            "We raised a lot at the {event}! I was handing out water all day.",
        ],
        [
            "What event did {N} help at?",
            "When was the {event} that {N} took part in?",
            "How did {N} contribute to the community?",
        ],
    ),
    (
        [
            "I finished reading {book}. I couldn't put it down.",
            "{book} is the best thing I've read this year, it made me cry.",
        ],
        [
            "Which book did {N} read?",
            "What does {N} think of {book}?",
            "What did {N} recommend reading?",
        ],
    ),
    (
        [
            "We watched {film} last night, still thinking about that ending.",
            "{film} is my comfort movie, I've seen it {number} times.",
        ],
        [
            "What is {N}'s favorite movie?",
            "Which film did {N} watch?",
            "How many times has {N} seen {film}?",
        ],
    ),
    (
        [
            "I {injury} playing {sport}, the doctor says no {sport} for {number} weeks.",
            "Bad luck, I {injury} at {sport} practice.",
        ],
        [
            "How did {N} get hurt?",
            "What injury did {N} have?",
            "Which sport was {N} playing when the accident happened?",
            "How long does {N} need to recover?",
        ],
    ),
    (
        [
            "I bought {vehicle}! It took all my savings but it's worth it.",
            "Picked up {vehicle} this morning, the test drive sold me.",
        ],
        ["What did {N} spend the savings on?", "What does {N} drive?", "What vehicle did {N} get?"],
    ),
    (
        [
            "I got accepted to study {subject} in {city}!",
            "Classes started, I'm studying {subject} now and the reading list is huge.",
        ],
        [
            "What is {N} studying?",
            "Which field of education did {N} choose?",
            "What degree is {N} pursuing?",
        ],
    ),
    (
        [
            "I can't eat that, I'm allergic to {allergy}.",
            "Turns out I have an allergy to {allergy}, I ended up in the ER.",
        ],
        [
            "What is {N} allergic to?",
            "What should {N} avoid?",
            "Which health condition does {N} have to watch out for?",
        ],
    ),
    (
        [
            "{friend} gave me {gift} for my birthday, I was speechless.",
            "Look what I got from {friend}: {gift}!",
        ],
        [
            "What did {N} receive from {friend}?",
            "Who gave {N} {gift}?",
            "What birthday present did {N} get?",
        ],
    ),
    (
        [
            "Honestly I'm terrified of {fear}, always have been.",
            "I had to face my fear of {fear} today. My knees were shaking.",
        ],
        ["What is {N} afraid of?", "Which phobia does {N} have?"],
    ),
    (
        ["My dream is to {goal} before I turn forty.", "This year I really want to {goal}."],
        [
            "What are {N}'s plans for the future?",
            "What goal does {N} have?",
            "What does {N} hope to achieve?",
        ],
    ),
    (
        [
            "I felt so {feeling} after talking to {friend} yesterday.",
            "Talking with {friend} left me {feeling}, I needed that conversation.",
        ],
        [
            "How did {N} feel after the conversation with {friend}?",
            "Who did {N} talk to that changed the mood?",
        ],
    ),
    (
        [
            "We painted the living room {color} and I love it.",
            "I repainted my bedroom {color}, {friend} helped me.",
        ],
        [
            "What color did {N} paint the room?",
            "What home improvement did {N} do?",
            "What did {N} renovate?",
        ],
    ),
    (
        [
            "I'm opening a {shop} downtown in the spring!",
            "The lease is signed, my own {shop} is really happening.",
        ],
        ["What business is {N} starting?", "What kind of store will {N} run?"],
    ),
    (
        [
            "I've been friends with {friend} for {number} years, we met at {event}.",
            "{friend} and I go way back, {number} years already.",
        ],
        [
            "How long has {N} known {friend}?",
            "Where did {N} meet {friend}?",
            "Who is an old friend of {N}?",
        ],
    ),
    (
        [
            "I moved to {city} last month, still living out of boxes.",
            "Unpacking in my new apartment in {city}. So much cardboard.",
        ],
        [
            "Where does {N} live now?",
            "When did {N} move to {city}?",
            "Which city did {N} relocate to?",
        ],
    ),
    (
        [
            "My {relative} and I had a huge argument, we're not talking.",
            "I made up with my {relative} after that fight, finally.",
        ],
        ["Who did {N} fight with?", "What conflict did {N} have in the family?"],
    ),
    (
        [
            "Our team won the {sport} tournament! I scored the last point.",
            "We lost the {sport} final, but what a season.",
        ],
        [
            "What sport does {N} play?",
            "How did {N}'s tournament go?",
            "What competition did {N} take part in?",
        ],
    ),
    (
        [
            "My kids loved the {event}, they want to go every year.",
            "Took the {number} kids to the {event}, they were thrilled.",
        ],
        [
            "What did {N} do with the children?",
            "How many kids does {N} have?",
            "Which outing did {N}'s family enjoy?",
        ],
    ),
    (
        [
            "I got engaged! {friend} proposed in {place}.",
            "{friend} asked me to marry them on our trip to {place} and I said yes.",
        ],
        [
            "Who is {N} going to marry?",
            "Where did the proposal to {N} happen?",
            "When did {N} get engaged?",
        ],
    ),
    (
        [
            "I stopped eating meat {number} months ago and feel lighter.",
            "I'm vegetarian now, it's been {number} months.",
        ],
        ["What diet does {N} follow?", "How long has {N} been vegetarian?", "Does {N} eat meat?"],
    ),
    (
        [
            "I lost my wallet at the {event} and someone returned it.",
            "Someone stole my bike outside the {shop}, I filed a report.",
        ],
        ["What did {N} lose?", "What was stolen from {N}?", "What unlucky thing happened to {N}?"],
    ),
    (
        [
            "My therapist suggested journaling and it's helping with the anxiety.",
            "I started seeing a therapist, best decision this year.",
        ],
        [
            "What does {N} do for mental health?",
            "Who helps {N} with anxiety?",
            "What did the therapist recommend to {N}?",
        ],
    ),
]

# (question by the other speaker, answer, queries): the answer alone says little, so that the
# model has to read the previous turn.
EXCHANGES: list[tuple[str, list[str], list[str]]] = [
    (
        "Where are you going for the holidays?",
        ["{place}, and I can't wait!", "Probably {place} again."],
        ["Where does {N} spend the holidays?", "What is {N}'s holiday destination?"],
    ),
    (
        "What kind of pet did you get?",
        ["A {animal}, and {pet} already runs the house.", "A tiny {animal}!"],
        ["What pet did {N} get?", "Which animal lives with {N}?"],
    ),
    (
        "How long have you been playing the {instrument}?",
        ["About {number} years now.", "Since I was {number}, can you believe it?"],
        ["How long has {N} played the {instrument}?", "When did {N} start with music?"],
    ),
    (
        "What did you cook for the party?",
        ["{food}, and everyone wanted seconds.", "Just {food}, nothing fancy."],
        ["What did {N} prepare for the party?", "Which food did {N} make for guests?"],
    ),
    (
        "So what are you studying these days?",
        ["{subject}, my exams are in May.", "{subject}. It's tough but I love it."],
        ["What subject does {N} study?", "What is {N}'s major?"],
    ),
    (
        "Who are you going to the {event} with?",
        ["With {friend}, as always.", "My {relative} is coming too."],
        ["Who accompanies {N} to the {event}?", "Who does {N} go to the {event} with?"],
    ),
    (
        "What's your favorite book?",
        ["{book}, hands down.", "Has to be {book}."],
        ["What is {N}'s favorite book?", "Which novel does {N} love most?"],
    ),
    (
        "What made you so {feeling} yesterday?",
        [
            "My {relative} called from the hospital, but all is fine now.",
            "I finally heard back from {company}.",
        ],
        ["Why was {N} {feeling}?", "What caused {N}'s mood?"],
    ),
    (
        "Which city are you moving to?",
        ["{city}! The movers come on Friday.", "We decided on {city}."],
        ["Where is {N} moving?", "Which city will {N} live in?"],
    ),
    (
        "What did {friend} give you?",
        ["{gift}. I almost cried.", "You won't believe it: {gift}."],
        ["What did {friend} give {N}?", "What gift did {N} get?"],
    ),
    (
        "How many siblings do you have?",
        ["{number}, I'm the youngest.", "Just {number}, the house was never quiet."],
        ["How many brothers and sisters does {N} have?", "How big is {N}'s family?"],
    ),
    (
        "What do you do when you're stressed?",
        ["{hobby} mostly, it clears my head.", "A long bath and some {hobby}."],
        ["How does {N} handle stress?", "What calms {N} down?"],
    ),
    (
        "What's the name of your {animal} again?",
        ["{pet}!", "It's {pet}, after my grandpa's old {animal}."],
        ["What is {N}'s {animal} called?", "What is the name of {N}'s pet?"],
    ),
    (
        "Did you see a doctor about your allergy?",
        ["Yes, it's {allergy}.", "I did, no more {allergy} for me."],
        ["What allergy does {N} have?", "What did the doctor tell {N}?"],
    ),
    (
        "What are you saving for?",
        ["{vehicle}, fingers crossed for summer.", "I want to {goal}."],
        ["What is {N} saving money for?", "What does {N} want to buy?"],
    ),
]
FILLERS = (
    "That's wonderful, {O}! I'm so happy for you.|Wow, tell me more!|Haha, same here.|No way, really?"
    "|I'm sorry to hear that, {O}. Sending hugs.|Thanks {O}, that means a lot.|How have you been?"
    "|Sounds like a plan!|I know exactly what you mean.|Take care, talk soon!|Good luck with it, {O}!"
    "|Long time no talk! What's new with you?|That must have been hard.|What happened next?"
    "|You always know how to cheer me up.|Let's catch up properly next week.|Nice! Got any pictures?"
)
MONTH_QUERIES = (
    "What did {N} do in {month}?",
    "What happened to {N} in {month}?",
    "What was {N} up to on {day}?",
    "What did {N} mention on {day}?",
)


@dataclass(frozen=True, slots=True)
class Turn:
    speaker: str
    when: date
    text: str


@dataclass(frozen=True, slots=True)
class World:
    turns: list[Turn]
    questions: list[tuple[str, list[int]]]


def make_world(rng: random.Random) -> World:
    """Two people, a few sessions, statements on like topics, and questions about one of them."""
    pair = rng.sample(NAMES.split(), 2)
    topics = rng.sample(range(len(STATEMENTS)), 7)
    plan = [(who, topic) for topic in topics for who in pair if rng.random() < 0.75]
    exchanges = [(rng.choice(pair), e) for e in rng.sample(range(len(EXCHANGES)), 4)]
    rng.shuffle(plan)
    day = date(2019, 1, 1) + timedelta(days=rng.randrange(2400))
    turns: list[Turn] = []
    questions: list[tuple[str, list[int]]] = []
    while plan or exchanges:
        if rng.random() < 0.3:
            day += timedelta(days=rng.randrange(3, 60))
        if exchanges and (not plan or rng.random() < 0.25):
            _exchange(rng, turns, questions, (*exchanges.pop(), pair, day))
        else:
            who, topic = plan.pop()
            statement, asked = _fill(rng, *STATEMENTS[topic], who)
            turns.append(Turn(who, day, statement))
            questions += [(q, [len(turns) - 1]) for q in rng.sample(asked, min(2, len(asked)))]
        if rng.random() < 0.45:
            other = pair[turns[-1].speaker == pair[0]]
            filler = rng.choice(FILLERS.split("|")).replace("{O}", turns[-1].speaker)
            turns.append(Turn(other, day, filler))
    questions += _dated(rng, turns, questions)
    return World(turns, questions)


def _exchange(
    rng: random.Random,
    turns: list[Turn],
    questions: list[tuple[str, list[int]]],
    spec: tuple[str, int, list[str], date],
) -> None:
    who, index, pair, day = spec
    asks, answers, queries = EXCHANGES[index]
    other = pair[who == pair[0]]
    filled, asked = _fill(rng, [f"{asks}\n{answer}" for answer in answers], queries, who)
    question, answer = filled.split("\n")
    turns.append(Turn(other, day, question))
    turns.append(Turn(who, day, answer[0].upper() + answer[1:]))
    questions.append((rng.choice(asked), [len(turns) - 1]))


def _fill(
    rng: random.Random, statements: list[str], queries: list[str], who: str
) -> tuple[str, list[str]]:
    values = {name: rng.choice(options.split("|")) for name, options in SLOTS.items()}
    values["N"] = who
    return rng.choice(statements).format(**values), [query.format(**values) for query in queries]


def _dated(
    rng: random.Random, turns: list[Turn], questions: list[tuple[str, list[int]]]
) -> list[tuple[str, list[int]]]:
    """Questions whose only handle is the speaker and the date."""
    told = sorted({i for _, gold in questions for i in gold})
    made: list[tuple[str, list[int]]] = []
    for _ in range(2):
        seed = turns[rng.choice(told)]
        template = rng.choice(MONTH_QUERIES)
        by_day = "{day}" in template
        gold = [
            i
            for i in told
            if turns[i].speaker == seed.speaker
            and (
                turns[i].when == seed.when
                if by_day
                else (turns[i].when.year, turns[i].when.month) == (seed.when.year, seed.when.month)
            )
        ]
        query = template.format(
            N=seed.speaker,
            month=f"{seed.when:%B %Y}",
            day=rng.choice(
                [
                    f"{seed.when:%B} {seed.when.day}, {seed.when.year}",
                    f"{seed.when.day} {seed.when:%B} {seed.when.year}",
                    f"{seed.when:%Y-%m-%d}",
                ]
            ),
        )
        if len(gold) <= 4:
            made.append((query, gold))
    return made
