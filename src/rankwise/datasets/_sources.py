"""The table of the real sets: where each lies, what its columns are, and its name on OpenML."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TableSource:
    """One single-table data set.

    Column names are compared without regard to case and punctuation, because OpenML spells some differently.
    """

    files: tuple[str, ...]
    """CSV files inside the data directory, one below the other; each may be gzipped (``.csv.gz``)."""
    target: str
    shape: tuple[int, int]
    """Rows, and columns with the target but without those set aside: a file that differs is damaged."""
    openml: tuple[str, int]
    """Name and version."""
    description: str
    openml_target: str = ""
    """Name of the target on OpenML, where it is another one."""
    text: tuple[str, ...] = ()
    """Columns of strings; all others hold numbers."""
    aside: tuple[str, ...] = ()
    """Columns that are neither features nor target."""
    classes: tuple[str, ...] | None = None
    """Order of a target made of strings."""
    complete: bool = False
    """Leave out rows with missing cells."""


_ADULT_TEXT = (
    *("split", "workclass", "education", "marital_status", "occupation", "relationship", "race", "sex"),
    *("native_country", "income", "class"),
)

SOURCES = {
    "abalone": TableSource(
        files=("abalone/abalone.csv",),
        target="rings",
        shape=(4177, 9),
        openml=("abalone", 1),
        openml_target="Class_number_of_rings",
        text=("sex",),
        description="Abalone (UCI): rings (1..29) of abalone shells from sex and seven measurements.",
    ),
    "adult_age": TableSource(
        files=("adult_age/adult.csv",),
        target="age",
        shape=(48842, 15),
        openml=("adult", 2),
        text=_ADULT_TEXT,
        aside=("split",),
        description="Adult (UCI, training and test rows): age in years (17..90) from the other columns with income.",
    ),
    "autompg": TableSource(
        files=("autompg/autompg_392.csv",),
        target="class",
        shape=(392, 8),
        openml=("autoMpg", 1),
        complete=True,
        description="Auto MPG (UCI), the 392 complete rows: miles per gallon from seven attributes of the car.",
    ),
    "bank32nh": TableSource(
        files=("bank32nh/bank32nh.csv",),
        target="rej",
        shape=(8192, 33),
        openml=("bank32nh", 1),
        description="Bank domains, 32 inputs (DELVE): rate of rejected customers of a simulated bank.",
    ),
    "boston": TableSource(
        files=("boston/boston_housing.csv",),
        target="medv",
        shape=(506, 14),
        openml=("boston", 1),
        description="Boston housing (StatLib): median house value from thirteen attributes of the tract.",
    ),
    "california": TableSource(
        files=("california/california.csv",),
        target="medianHouseValue",
        shape=(20640, 9),
        openml=("houses", 1),
        openml_target="median_house_value",
        description="California housing (StatLib, 1990): median house value of a block from eight attributes.",
    ),
    "car": TableSource(
        files=("car/car.csv",),
        target="class",
        shape=(1728, 7),
        openml=("car", 3),
        text=("buying", "maint", "doors", "persons", "lug_boot", "safety", "class"),
        classes=("unacc", "acc", "good", "vgood"),
        description="Car evaluation (UCI): acceptability in four ordered classes from six ordered attributes.",
    ),
    "cpu_act": TableSource(
        files=("cpu_act/cpu_act.csv",),
        target="usr",
        shape=(8192, 22),
        openml=("cpu_activity", 1),
        description="Computer activity, 21 inputs (DELVE): portion of time a processor runs in user mode.",
    ),
    "diabetes43": TableSource(
        files=("diabetes43/diabetes43.csv",),
        target="c_peptide",
        shape=(43, 3),
        openml=("diabetes_numeric", 1),
        description="Childhood diabetes: C-peptide of 43 children from age and base deficit.",
    ),
    "ERA": TableSource(
        files=("ordinal_real/ERA.csv",),
        target="target",
        shape=(1000, 5),
        openml=("ERA", 1),
        openml_target="out1",
        description="Employee rejection/acceptance (Ben-David): an ordered judgement from four attributes.",
    ),
    "ESL": TableSource(
        files=("ordinal_real/ESL.csv",),
        target="target",
        shape=(488, 5),
        openml=("ESL", 1),
        openml_target="out1",
        description="Employee selection (Ben-David): an ordered judgement from four attributes.",
    ),
    "eucalyptus": TableSource(
        files=("ordinal_real/eucalyptus.csv",),
        target="Utility",
        shape=(736, 20),
        openml=("eucalyptus", 1),
        text=("Abbrev", "Locality", "Map_Ref", "Latitude", "Sp", "Utility"),
        classes=("none", "low", "average", "good", "best"),
        description="Eucalyptus (Weka): utility of seedlots in five ordered classes; X has missing numbers (NaN).",
    ),
    "house_16H": TableSource(
        files=("house_16H/house_16H.csv",),
        target="target",
        shape=(22784, 17),
        openml=("house_16H", 1),
        openml_target="price",
        description="Census house 16H (DELVE): median house price of a region from sixteen census figures.",
    ),
    "isolet": TableSource(
        files=("isolet/isolet1234.csv", "isolet/isolet5.csv"),
        target="letter",
        shape=(7797, 618),
        openml=("isolet", 1),
        openml_target="class",
        aside=("part",),
        description="ISOLET (UCI, parts 1 to 5; part 5 is the usual test part): spoken letter (1..26 = A..Z).",
    ),
    "letter": TableSource(
        files=("letter/letter-recognition.csv",),
        target="letter",
        shape=(20000, 17),
        openml=("letter", 1),
        openml_target="class",
        text=("letter", "class"),
        description="Letter recognition (UCI): printed letter (A..Z) from sixteen statistics of its image.",
    ),
    "machine_cpu": TableSource(
        files=("machine_cpu/machine_cpu.csv",),
        target="class",
        shape=(209, 7),
        openml=("machine_cpu", 1),
        description="Computer hardware (UCI): published relative performance from six attributes of the machine.",
    ),
    "parkinsons": TableSource(
        files=("parkinsons/parkinsons_updrs.csv",),
        target="total_UPDRS",
        shape=(5875, 21),
        openml=("parkinsons-telemonitoring", 1),
        aside=("subject#",),
        description="Parkinsons telemonitoring (UCI): total UPDRS of 42 patients; motor UPDRS is among the features.",
    ),
    "pyrim": TableSource(
        files=("pyrim/pyrim.csv",),
        target="activity",
        shape=(74, 28),
        openml=("pyrim", 1),
        description="Pyrimidines (UCI QSAR): activity from 27 attributes of the molecule.",
    ),
    "stock": TableSource(
        files=("stock/stock.csv",),
        target="company10",
        shape=(950, 10),
        openml=("stock", 1),
        description="Stocks (StatLib): daily price of one aerospace company from nine others.",
    ),
    "triazines": TableSource(
        files=("triazines/triazines.csv",),
        target="activity",
        shape=(186, 61),
        openml=("triazines", 1),
        description="Triazines (UCI QSAR): activity from 60 attributes of the molecule.",
    ),
    "winequality_red": TableSource(
        files=("winequality/winequality-red.csv",),
        target="quality",
        shape=(1599, 12),
        openml=("red_wine", 1),
        description="Wine quality, red (UCI): judged quality (3..8) from eleven measurements.",
    ),
    "winequality_white": TableSource(
        files=("winequality/winequality-white.csv",),
        target="quality",
        shape=(4898, 12),
        openml=("white_wine", 1),
        description="Wine quality, white (UCI): judged quality (3..9) from eleven measurements.",
    ),
    "wisconsin": TableSource(
        files=("wisconsin/wisconsin.csv",),
        target="time",
        shape=(194, 33),
        openml=("wisconsin", 1),
        description="Breast cancer Wisconsin, prognostic (UCI): months to recurrence or last check-up.",
    ),
}
