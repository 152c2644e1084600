"""The script of a text."""

from __future__ import annotations

import pytest

from recollect.language.script import script_of


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Where does Ana live?", None),
        ("Où habite Zoë Šimůnek?", None),
        ("¿2026? 🐈 — …", "signs"),
        ("When? 🐈", None),
        ("谁修好了洗衣机？", "cjk"),
        ("洗濯機は誰が直しましたか", "cjk"),
        ("세탁기는 누가 고쳤어요?", "cjk"),
        ("من أصلح الغسالة؟", "arabic"),
        ("Кто починил машину?", "cyrillic"),
        ("Ποιος κέρδισε;", "greek"),
        ("מי תיקן?", "hebrew"),
        ("किराया कितना है?", "indic"),
        ("ใครซ่อม", "thai"),
        ("ვინ გაიმარჯვა?", "other"),
        ("Kubernetes 怎么部署", None),
        ("用 git 怎么撤销上一次的提交？", "cjk"),
    ],
)
def test_the_script_of_most_letters(text: str, script: str | None) -> None:
    assert script_of(text) == script
