"""Small word classes that decide what a capital letter means and what kind a name is."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never a name, nor the first or last word of one, however it is written.
FUNCTION_WORDS = _words(
    """a an the this that these those i me my mine myself you your yours he him his she her hers it
    its we us our ours they them their theirs who whom whose which what when where why how
    and or but nor so yet if then than because since although though unless until while as of
    at by for from in into on onto to with without about above across after against along among
    around before behind below beneath beside between beyond despite down during except inside
    like near off out outside over past through throughout toward towards under up upon via within
    is am are was were be been being do does did done doing have has had having can could will
    would shall should may might must ought not no yes never ever always often sometimes usually
    i'm i've i'll i'd you're you've you'll you'd he's he'd he'll she's she'd she'll it's it'd it'll
    we're we've we'll we'd they're they've they'll they'd that's there's there here what's who's
    where's how's let's let don't doesn't didn't isn't aren't wasn't weren't can't couldn't won't
    wouldn't shouldn't haven't hasn't hadn't ain't im ive dont cant didnt doesnt thats u ur
    all any both each few many more most much other others some such every either neither several
    one two three four five six seven eight nine ten first second third last next another only
    own same very too also just even still already again once twice now today tomorrow yesterday
    tonight later soon recently currently finally suddenly however therefore moreover furthermore
    meanwhile nevertheless nonetheless otherwise instead indeed perhaps maybe actually basically
    additionally consequently thus hence hi hello hey thanks thank please sorry ok okay oh ah wow
    yeah yep nope well sure great good nice cool awesome dear morning afternoon evening night
    welcome congratulations congrats lol omg wtf btw fyi asap tbh imo rt dm ps am pm tv etc eg ie
    vs re mr mrs ms sir madam mom mum dad mommy daddy grandma grandpa user assistant
    everyone everybody someone somebody anyone anybody nobody nothing something anything everything
    chapter section table figure step note id according based unlike whether whereas regarding
    haha lmao smh tbt nsfw diy faq rip usd eur gbp gmt utc est pst cet cst cdt edt pdt ad bc ko kos cd cds
    dvd dvds url sms xd xo xoxo ff kt mph kph km kg ya yall ha hmm um uh gonna gotta wanna dude bro guys happy merry bye goodbye cheers
    day days week month year y'know ohh ooh ugh huh aww yay whoa woah gosh god jeez mmm mmmm ehe aye yo thx"""
)

ROMAN = _words("ii iii iv vi vii viii ix xi xii xiii xiv xv")

CALENDAR = _words(
    """monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri
    sat sun mondays tuesdays wednesdays thursdays fridays saturdays sundays january february march
    april may june july august september october november december jan feb mar apr jun jul aug sep
    sept oct nov dec spring summer autumn fall winter christmas easter thanksgiving halloween
    hanukkah ramadan diwali new-year"""
)

# Written with a capital wherever they stand; some are surnames beside another name.
GERMAN_CALENDAR = _words(
    """montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag januar februar märz juni
    juli oktober dezember uhr"""
)

# Peoples and languages: names of a sort, told apart so that they never become a person.
DEMONYMS = _words(
    """african afghan albanian algerian american arab arabic argentine argentinian armenian asian
    australian austrian bangladeshi basque belgian bengali bolivian bosnian brazilian british
    bulgarian burmese cambodian canadian cantonese catalan chilean chinese colombian croatian cuban
    czech danish dutch egyptian english estonian ethiopian european filipino finnish french gaelic
    georgian german ghanaian greek haitian hawaiian hebrew hindi hungarian icelandic indian
    indonesian iranian iraqi irish israeli italian jamaican japanese jewish kenyan korean kurdish
    latin latino latvian lebanese libyan lithuanian malay malaysian maltese mandarin mexican
    mongolian moroccan muslim nepali nigerian norwegian pakistani palestinian persian peruvian
    polish portuguese punjabi quechua roman romanian russian sanskrit saudi scandinavian scots
    scottish serbian siberian sicilian slovak slovenian somali soviet spanish sudanese swahili
    swedish swiss syrian taiwanese tamil telugu thai tibetan tunisian turkish ukrainian urdu
    uruguayan uzbek venezuelan vietnamese viking welsh yiddish yoruba zulu americans europeans
    africans asians germans italians russians indians canadians australians mexicans brazilians
    arabs christian catholic protestant buddhist hindu islam islamic christianity buddhism judaism
    hinduism christians catholics muslims jews buddhists hindus orthodox anglican victorian"""
)

TITLES = _words(
    """mr mrs ms mx miss dr doctor prof professor sir lady lord dame president senator judge justice
    captain colonel general sergeant lieutenant officer king queen prince princess pope bishop
    father sister brother rabbi imam uncle aunt auntie coach chancellor governor mayor minister
    secretary ceo cto cfo director chef detective nurse sheriff saint emperor duke count baron"""
)

ORG_SUFFIXES = _words(
    """inc ltd llc corp corporation co company gmbh ag plc sa nv bv kg oy ab as pty llp lp limited
    incorporated holdings group sarl srl spa kk"""
)

ORG_WORDS = _words(
    """university college school institute academy bank hospital clinic ministry department agency
    association committee commission council federation foundation society union party church
    museum library laboratory laboratories labs lab studio studios records band orchestra
    club team fc united league airlines airways motors systems technologies technology software
    solutions partners associates consulting press magazine times post news network channel radio
    restaurant cafe hotel bakery pizzeria gym theatre theater army navy force police court congress
    senate parliament bureau office authority board centre center organization organisation
    alliance coalition trust fund capital ventures industries enterprises entertainment pictures
    media games interactive pharmaceuticals pharma insurance financial services brothers"""
)

PLACE_WORDS = _words(
    """street road avenue boulevard lane drive square plaza park river lake sea ocean bay gulf
    island islands isle mountain mountains mount hill hills valley canyon desert forest beach coast
    cape peninsula falls creek bridge tower airport station terminal harbor harbour port city town
    village county district province state region kingdom republic territory north south east west
    northern southern eastern western highway route temple castle palace cathedral stadium arena
    garden gardens zoo heights springs room building hall hallway floor st ave blvd rd"""
)

PLACE_BEFORE = _words(
    """in near visit visited visiting across around outside toward towards leaving reached reach
    northern southern eastern western downtown central greater"""
)

PRODUCT_WORDS = _words(
    """pro max plus mini ultra edition app phone tablet laptop camera watch console browser
    album song movie film novel game series episode"""
)

# What "of" does not join to the name after it: "President of France", "Head of Design".
NO_OF = _words(
    """president king queen prince princess duke mayor governor minister secretary director head
    chief ceo cto cfo vp manager chairman chairwoman founder member members professor bishop pope
    part most many some all one none because out top view people years days end start side friend
    north south east west"""
)

# Nouns that a number makes into a name.
NUMBERED = _words(
    """room flight gate highway route platform building floor level terminal apartment apt unit
    suite ward bus line track ticket issue invoice order case interstate studio lab hall lot
    windows iphone galaxy pixel python java php node angular playstation xbox season episode
    apollo type model mark world formula area section pier dock bay warehouse server cluster"""
)

# What is called by a name of its own: a capitalised everyday word before it is that name.
GROUPS = _words("team group squad crew project initiative programme program")

# After these a capitalised everyday word is a name.
CALLED = _words("called named nicknamed codenamed dubbed")
RELATIONS = _words(
    """friend colleague coworker roommate neighbor neighbour boss manager partner wife husband
    boyfriend girlfriend fiancé fiancée fiance fiancee son daughter brother sister mother father
    cousin uncle aunt nephew niece dog cat puppy kitten horse pony parrot hamster"""
)

_SPEECH = """said says told tells asked asks replied replies answered wrote writes thinks thought
    thinks believes wants wanted likes liked loves loved hates hated prefers preferred works worked
    lives lived moved went goes came comes joined left met meets called calls texted emailed sent
    bought ordered visited plays played married knows knew made makes got gets gave gives took
    started began plans planned agreed decided suggested mentioned recommended explained helped
    studies studied graduated retired died smiled laughed nodded cooked drove flew ran walked
    argued insisted promised offered invited introduced hired fired"""

PERSON_BEFORE_VERBS = _words(_SPEECH)
# Verbs and greetings that take a person and nothing else.
ADDRESSED = _words(
    "told asked met called texted emailed messaged thanked hi hey hello named hired invited"
)
PERSON_AFTER = _words(
    """told asked met called texted emailed messaged married dating hired invited thanked helped
    introduced joined hi hey hello dear thanks named friend colleague brother sister wife husband
    son daughter mother father boss manager coworker roommate neighbor neighbour cousin boyfriend
    girlfriend fiancé fiancée fiance fiancee partner girl boy guy uncle aunt actor actress singer
    author writer director president founder coach daughter's"""
)
