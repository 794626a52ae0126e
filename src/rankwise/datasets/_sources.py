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
    """Name of the target on OpenML, if it differs."""
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

# fmt: off
SOURCES = {  # files, target, shape, OpenML name and version, description, and what differs from the usual
    "abalone": TableSource(("abalone/abalone.csv",), "rings", (4177, 9), ("abalone", 1),
        "Abalone (UCI): rings (1..29) of abalone shells from sex and seven measurements.",
        openml_target="Class_number_of_rings", text=("sex",)),
    "adult_age": TableSource(("adult_age/adult.csv",), "age", (48842, 15), ("adult", 2),
        "Adult (UCI, training and test rows): age in years (17..90) from the other columns with income.",
        text=_ADULT_TEXT, aside=("split",)),
    "autompg": TableSource(("autompg/autompg_392.csv",), "class", (392, 8), ("autoMpg", 1),
        "Auto MPG (UCI), the 392 complete rows: miles per gallon from seven attributes of the car.",
        complete=True),
    "bank32nh": TableSource(("bank32nh/bank32nh.csv",), "rej", (8192, 33), ("bank32nh", 1),
        "Bank domains, 32 inputs (DELVE): rate of rejected customers of a simulated bank."),
    "boston": TableSource(("boston/boston_housing.csv",), "medv", (506, 14), ("boston", 1),
        "Boston housing (StatLib): median house value from thirteen attributes of the tract."),
    "california": TableSource(("california/california.csv",), "medianHouseValue", (20640, 9), ("houses", 1),
        "California housing (StatLib, 1990): median house value of a block from eight attributes.",
        openml_target="median_house_value"),
    "car": TableSource(("car/car.csv",), "class", (1728, 7), ("car", 3),
        "Car evaluation (UCI): acceptability in four ordered classes from six ordered attributes.",
        text=("buying", "maint", "doors", "persons", "lug_boot", "safety", "class"),
        classes=("unacc", "acc", "good", "vgood")),
    "cpu_act": TableSource(("cpu_act/cpu_act.csv",), "usr", (8192, 22), ("cpu_activity", 1),
        "Computer activity, 21 inputs (DELVE): portion of time a processor runs in user mode."),
    "diabetes43": TableSource(("diabetes43/diabetes43.csv",), "c_peptide", (43, 3), ("diabetes_numeric", 1),
        "Childhood diabetes: C-peptide of 43 children from age and base deficit."),
    "ERA": TableSource(("ordinal_real/ERA.csv",), "target", (1000, 5), ("ERA", 1),
        "Employee rejection/acceptance (Ben-David): an ordered judgement from four attributes.",
        openml_target="out1"),
    "ESL": TableSource(("ordinal_real/ESL.csv",), "target", (488, 5), ("ESL", 1),
        "Employee selection (Ben-David): an ordered judgement from four attributes.",
        openml_target="out1"),
    "eucalyptus": TableSource(("ordinal_real/eucalyptus.csv",), "Utility", (736, 20), ("eucalyptus", 1),
        "Eucalyptus (Weka): utility of seedlots in five ordered classes; X has missing numbers (NaN).",
        text=("Abbrev", "Locality", "Map_Ref", "Latitude", "Sp", "Utility"),
        classes=("none", "low", "average", "good", "best")),
    "house_16H": TableSource(("house_16H/house_16H.csv",), "target", (22784, 17), ("house_16H", 1),
        "Census house 16H (DELVE): median house price of a region from sixteen census figures.",
        openml_target="price"),
    "isolet": TableSource(("isolet/isolet1234.csv", "isolet/isolet5.csv"), "letter", (7797, 618), ("isolet", 1),
        "ISOLET (UCI, parts 1 to 5; part 5 is the usual test part): spoken letter (1..26 = A..Z).",
        openml_target="class", aside=("part",)),
    "letter": TableSource(("letter/letter-recognition.csv",), "letter", (20000, 17), ("letter", 1),
        "Letter recognition (UCI): printed letter (A..Z) from sixteen statistics of its image.",
        openml_target="class", text=("letter", "class")),
    "machine_cpu": TableSource(("machine_cpu/machine_cpu.csv",), "class", (209, 7), ("machine_cpu", 1),
        "Computer hardware (UCI): published relative performance from six attributes of the machine."),
    "parkinsons": TableSource(("parkinsons/parkinsons_updrs.csv",), "total_UPDRS", (5875, 21),
        ("parkinsons-telemonitoring", 1),
        "Parkinsons telemonitoring (UCI): total UPDRS of 42 patients; motor UPDRS is among the features.",
        aside=("subject#",)),
    "pyrim": TableSource(("pyrim/pyrim.csv",), "activity", (74, 28), ("pyrim", 1),
        "Pyrimidines (UCI QSAR): activity from 27 attributes of the molecule."),
    "stock": TableSource(("stock/stock.csv",), "company10", (950, 10), ("stock", 1),
        "Stocks (StatLib): daily price of one aerospace company from nine others."),
    "triazines": TableSource(("triazines/triazines.csv",), "activity", (186, 61), ("triazines", 1),
        "Triazines (UCI QSAR): activity from 60 attributes of the molecule."),
    "winequality_red": TableSource(("winequality/winequality-red.csv",), "quality", (1599, 12), ("red_wine", 1),
        "Wine quality, red (UCI): judged quality (3..8) from eleven measurements."),
    "winequality_white": TableSource(("winequality/winequality-white.csv",), "quality", (4898, 12), ("white_wine", 1),
        "Wine quality, white (UCI): judged quality (3..9) from eleven measurements."),
    "wisconsin": TableSource(("wisconsin/wisconsin.csv",), "time", (194, 33), ("wisconsin", 1),
        "Breast cancer Wisconsin, prognostic (UCI): months to recurrence or last check-up."),
}
# fmt: on
