import csv
import os
from pathlib import Path

import numpy as np
import pytest

from rankwise import datasets
from rankwise.datasets import DatasetDamagedError, DatasetNotFoundError, _mail, load_enron_folders

DATA = Path(os.environ.get("RANKWISE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no directory of real data; name one in RANKWISE_DATA")

COLUMNS = ("user", "folder", "date", "message_id", "from", "to", "cc", "subject", "text")
MESSAGES = [
    ("news", "2001-05-02T10:00:00Z", "Power PRICES", "prices rise; a b 7 don't"),
    ("work", "2001-05-01T10:00:00Z", "", "Meeting, meeting_room 10"),
    ("news", "2001-05-01T10:00:00Z", "the price", ""),
]


@pytest.fixture
def write(tmp_path, monkeypatch, nowhere):
    """Write messages as the mail of lokay-m, and say where."""
    monkeypatch.setitem(_mail._SIZES, "lokay-m", (2, 3))

    def write(messages=MESSAGES, columns=COLUMNS):
        path = tmp_path / "enron_folders" / "lokay-m.csv"
        path.parent.mkdir(exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(columns)
            for i, (folder, date, subject, text) in enumerate(messages):
                writer.writerow(["lokay-m", folder, date, i, "ann@enron.com", "bob", "", subject, text])
        return tmp_path

    return write


def test_messages_in_the_order_of_their_dates(write):
    mail = load_enron_folders("lokay-m", data_dir=write())
    assert mail.y.tolist() == ["work", "news", "news"]
    assert mail.texts == ("\nMeeting, meeting_room 10", "the price\n", "Power PRICES\nprices rise; a b 7 don't")
    assert mail.dates[0] == np.datetime64("2001-05-01T10:00:00")
    assert repr(mail) == "MailFolders(name='lokay-m')"


def test_words_are_runs_of_two_or_more_in_lower_case_and_count_once(write):
    mail = load_enron_folders("lokay-m", data_dir=write())
    assert mail.feature_names == ("10", "don", "meeting", "meeting_room", "power", "price", "prices", "rise", "the")
    assert mail.X.toarray().tolist() == [
        [1, 0, 1, 1, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 1, 0, 0, 1],
        [0, 1, 0, 0, 1, 0, 1, 1, 0],
    ]
    assert mail.X.dtype == np.float64
    assert mail.X.has_sorted_indices


def test_words_of_other_fields(write):
    mail = load_enron_folders("lokay-m", fields=["from", "cc"], data_dir=write())
    assert mail.feature_names == ("ann", "com", "enron")
    for bad in ([], "text", ["text", "body"]):
        with pytest.raises(ValueError, match="'fields' parameter of load_enron_folders must be some of 'from'"):
            load_enron_folders("lokay-m", fields=bad, data_dir=write())


@pytest.mark.parametrize(
    ("messages", "columns", "message"),
    [
        (MESSAGES[:2], COLUMNS, "it has 2 folders with 2 messages, not 2 with 3"),
        ([("", *MESSAGES[0][1:]), *MESSAGES[1:]], COLUMNS, "it has 3 folders with 3 messages, not 2 with 3"),
        (MESSAGES, ["id" if c == "message_id" else c for c in COLUMNS], "lacks the column 'message_id'"),
        ([*MESSAGES[:2], ("news", "", "", "words")], COLUMNS, "no date"),
        ([*MESSAGES[:2], ("news", "May 1st", "", "words")], COLUMNS, "no date"),
    ],
)
def test_damaged(write, messages, columns, message):
    with pytest.raises(DatasetDamagedError, match=message):
        load_enron_folders("lokay-m", data_dir=write(messages, columns))


def test_unknown_user_and_missing_file(tmp_path, nowhere):
    with pytest.raises(ValueError, match="'user' parameter of load_enron_folders must be one of 'beck-s'"):
        load_enron_folders("lay-k", data_dir=tmp_path)
    with pytest.raises(DatasetNotFoundError, match=r"enron_folders/beck-s\.csv \(plain or \.gz\)"):
        load_enron_folders("beck-s", data_dir=tmp_path)


@pytest.mark.slow
@needs_data
def test_the_real_mail():
    for user in datasets.ENRON_USERS:
        mail = load_enron_folders(user, data_dir=DATA)
        assert (len(set(mail.y)), len(mail.y)) == _mail._SIZES[user]
        assert mail.X.shape == (len(mail.y), len(mail.feature_names))
        assert np.array_equal(np.unique(mail.X.data), [1.0])
        assert mail.X.getnnz(axis=1).min() >= 1
        assert (np.diff(mail.dates) >= np.timedelta64(0)).all()
        assert np.unique(mail.y, return_counts=True)[1].min() >= 3
    with_senders = load_enron_folders(user, fields=("from", "subject", "text"), data_dir=DATA)
    assert set(mail.feature_names) < set(with_senders.feature_names)
