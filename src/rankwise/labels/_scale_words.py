"""Words of answer scales that people know the order of, by kind and language: each line one scale, lowest first.

Words of one answer in other wordings are separated by ``|``. A column in which two wordings of one answer occur is
refused: the author of its questionnaire meant two answers.
"""

from __future__ import annotations

#: Answers with an order, by kind.
SCALES: dict[str, tuple[str, ...]] = {
    "agreement": (
        "strongly disagree|totally disagree|completely disagree|fully disagree < disagree"
        " < somewhat disagree|slightly disagree|tend to disagree|partly disagree"
        " < neither agree nor disagree|neither agree or disagree|neither disagree nor agree|neutral|undecided"
        " < somewhat agree|slightly agree|tend to agree|partly agree < agree"
        " < strongly agree|totally agree|completely agree|fully agree",
        "stimme überhaupt nicht zu|stimme gar nicht zu|trifft überhaupt nicht zu|trifft gar nicht zu"
        " < stimme nicht zu|lehne ab|trifft nicht zu < stimme eher nicht zu|trifft eher nicht zu"
        " < weder noch|teils teils|teils-teils|teils/teils|teils, teils|neutral|unentschieden"
        " < stimme eher zu|trifft eher zu < stimme zu|trifft zu"
        " < stimme voll zu|stimme voll und ganz zu|stimme völlig zu|trifft voll zu"
        "|trifft voll und ganz zu|trifft völlig zu",
        "pas du tout d'accord|tout à fait en désaccord|fortement en désaccord < pas d'accord|en désaccord"
        " < plutôt pas d'accord|plutôt en désaccord < ni d'accord ni pas d'accord|ni d'accord, ni pas d'accord"
        "|ni en accord ni en désaccord|neutre < plutôt d'accord < d'accord < tout à fait d'accord|fortement d'accord",
        "totalmente en desacuerdo|muy en desacuerdo < en desacuerdo < algo en desacuerdo"
        " < ni de acuerdo ni en desacuerdo|ni en acuerdo ni en desacuerdo|neutral|neutro < algo de acuerdo < de acuerdo"
        " < totalmente de acuerdo|muy de acuerdo",
    ),
    "frequency": (
        "never < almost never|hardly ever|very rarely < rarely|seldom < sometimes|occasionally < often|frequently"
        " < very often|very frequently|almost always < always",
        "nie|niemals < fast nie|sehr selten < selten < manchmal|gelegentlich|ab und zu < oft|häufig"
        " < sehr oft|sehr häufig|fast immer < immer",
        "jamais < presque jamais|très rarement < rarement < parfois|quelquefois|de temps en temps < souvent"
        " < très souvent|presque toujours < toujours",
        "nunca|jamás < casi nunca|muy raramente < raramente|rara vez|raras veces"
        " < a veces|algunas veces|de vez en cuando|ocasionalmente < a menudo|frecuentemente|con frecuencia"
        " < muy a menudo|muy frecuentemente|casi siempre < siempre",
    ),
    "quality": (
        "extremely poor|terrible < very poor|very bad < poor|bad < fair|average|acceptable|okay|ok < good"
        " < very good|great < excellent",
        "far below average|well below average|much below average < below average < average < above average"
        " < far above average|well above average|much above average",
        "much worse < worse|somewhat worse < the same|about the same < better|somewhat better < much better",
        "sehr schlecht < schlecht < mittelmäßig|mittel|durchschnittlich|befriedigend < gut < sehr gut"
        " < ausgezeichnet|hervorragend",
        "ungenügend < mangelhaft < ausreichend < befriedigend < gut < sehr gut",
        "très mauvais|très mauvaise < mauvais|mauvaise < moyen|moyenne|passable|correct|correcte < bon|bonne"
        " < très bon|très bonne < excellent|excellente",
        "muy malo|muy mala|pésimo|pésima < malo|mala < regular|aceptable < bueno|buena < muy bueno|muy buena"
        " < excelente",
    ),
    "likelihood": (
        "extremely unlikely|definitely not < very unlikely < unlikely < somewhat unlikely|slightly unlikely"
        " < neither likely nor unlikely|neutral|undecided < somewhat likely|slightly likely < likely < very likely"
        " < extremely likely|definitely",
        "not at all likely < slightly likely < moderately likely < very likely < extremely likely",
        "definitely not|certainly not < probably not < possibly|maybe|perhaps < probably|probably yes"
        " < definitely|definitely yes|certainly",
        "sehr unwahrscheinlich|äußerst unwahrscheinlich < unwahrscheinlich < eher unwahrscheinlich"
        " < weder noch|neutral < eher wahrscheinlich < wahrscheinlich < sehr wahrscheinlich|äußerst wahrscheinlich",
        "très improbable|très peu probable < improbable|peu probable < plutôt improbable"
        " < ni probable ni improbable|neutre < plutôt probable < probable < très probable",
        "muy improbable|muy poco probable < improbable|poco probable < algo improbable"
        " < ni probable ni improbable|neutral < algo probable < probable < muy probable",
    ),
    "severity": (
        "none|no symptoms|absent < very mild|minimal < mild|slight < moderate < severe < very severe|extreme"
        " < life-threatening|fatal",
        "keine|kein < sehr leicht|minimal < leicht|gering < mittel|mäßig|mittelschwer < schwer|stark"
        " < sehr schwer|sehr stark|extrem",
        "aucun|aucune < très léger|très légère|minime < léger|légère < modéré|modérée < grave|sévère|sévere"
        " < très grave|très sévère|extrême",
        "ninguno|ninguna < muy leve|mínimo < leve < moderado|moderada < grave|severo|severa"
        " < muy grave|muy severo|muy severa|extremo",
    ),
    "level": (
        "very low < low < medium|mid|moderate|middle < high < very high",
        "low < medium|mid|moderate < high < critical",
        "sehr niedrig|sehr gering < niedrig|gering < mittel < hoch < sehr hoch",
        "niedrig|gering < mittel < hoch < kritisch",
        "très faible|très bas|très basse < faible|bas|basse < moyen|moyenne < élevé|élevée|haut|haute"
        " < très élevé|très élevée",
        "faible < moyen|moyenne < élevé|élevée < critique",
        "muy bajo|muy baja < bajo|baja < medio|media < alto|alta < muy alto|muy alta",
        "bajo|baja < medio|media < alto|alta < crítico|crítica",
    ),
    "satisfaction": (
        "extremely dissatisfied|completely dissatisfied|totally dissatisfied < very dissatisfied < dissatisfied"
        " < somewhat dissatisfied|slightly dissatisfied"
        " < neither satisfied nor dissatisfied|neither dissatisfied nor satisfied|neutral"
        " < somewhat satisfied|slightly satisfied < satisfied < very satisfied"
        " < extremely satisfied|completely satisfied|totally satisfied",
        "sehr unzufrieden < unzufrieden < eher unzufrieden < weder zufrieden noch unzufrieden|weder noch|teils teils"
        "|teils/teils|neutral < eher zufrieden < zufrieden < sehr zufrieden",
        "très insatisfait|très insatisfaite|pas du tout satisfait|pas du tout satisfaite < insatisfait|insatisfaite"
        " < plutôt insatisfait|plutôt insatisfaite|peu satisfait|peu satisfaite"
        " < ni satisfait ni insatisfait|ni satisfaite ni insatisfaite|neutre < plutôt satisfait|plutôt satisfaite"
        " < satisfait|satisfaite < très satisfait|très satisfaite",
        "muy insatisfecho|muy insatisfecha < insatisfecho|insatisfecha < algo insatisfecho|algo insatisfecha"
        " < ni satisfecho ni insatisfecho|ni satisfecha ni insatisfecha|neutral|neutro"
        " < algo satisfecho|algo satisfecha < satisfecho|satisfecha < muy satisfecho|muy satisfecha",
    ),
}

#: Names of months, as spreadsheets write 1-2 when they take it for a date: 02-Jan, 01. Feb.
MONTHS = (
    "jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec|january|february|march|april|june|july|august|september"
    "|october|november|december|jän|mär|mrz|mai|okt|dez|januar|jänner|februar|märz|juni|juli|oktober|dezember"
    "|janv|févr|fév|mars|avr|juin|juil|août|déc|janvier|février|avril|juillet|septembre|octobre|novembre|décembre"
    "|ene|abr|ago|dic|enero|febrero|marzo|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
)
