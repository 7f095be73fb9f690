//! The intent of a message in a conversation: a new task, going on, or the end.

/// The intent of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// It states a task.
    Task,
    /// It goes on with the current task: "continue", "yes", a thumb.
    Continue,
    /// The current task is over: "thanks", "stop".
    End,
}

/// Filler words, which are removed from a clause.
const FILLERS: &str = "please|pls|now|then|just|and|so|well|great|good|perfect|nice|very|much|many|a|lot|again|bitte|dann|\
    jetzt|mal|schön|super|einfach|por|favor|stp|svp|пожалуйста|vielen|oh|ah|it|that|all|das|alles|ください|\
    お願いします";

/// Phrases that go on, without fillers.
const CONTINUE: &str = "continue|go on|go ahead|go|no|nope|nein|non|нет|不|不是|いいえ|아니요|proceed|carry on|keep going|keep on|\
    resume|next|next step|more|yes|y|yep|yeah|sure|ok|okay|k|right|correct|agreed|do|try|retry|weiter|\
    mach weiter|mache weiter|weitermachen|fahr fort|fahre fort|fortfahren|ja|jawohl|genau|los|mach|\
    nochmal|noch einmal|einverstanden|continuez|vas-y|vas y|oui|encore|la suite|suite|d'accord|d accord|\
    continúa|continua|continuar|sigue|seguir|sí|si|adelante|vale|sim|prossiga|avanti|sì|va bene|\
    продолжай|продолжайте|продолжить|дальше|да|давай|ещё|хорошо|devam|devam et|evet|dalej|kontynuuj|tak|\
    ga door|ga verder|verder|fortsätt|fortsæt|تابع|استمر|نعم|أكمل|जारी रखें|जारी रखो|हाँ|आगे|继续|请继续|继续吧|\
    继续做|继续说|接着|接着来|接着做|接着说|往下|往下说|下一步|再来|再试一次|好|好的|好吧|可以|行|是|是的|对|对的|嗯|嗯嗯|同意|繼續|請繼續|好呀|続けて|続き|続ける|つづけて|\
    はい|次|次へ|うん|계속|계속해|계속해줘|계속해주세요|네|예|응|다음";

/// Phrases that end, without fillers.
const END: &str = "thanks|thank you|thank|thx|ty|cheers|done|we are done|we re done|i m done|finished|that s all|\
    that is all|that s it|that will be all|stop|cancel|abort|quit|never mind|nevermind|forget|bye|\
    goodbye|enough|danke|danke dir|dank|dankeschön|fertig|das war s|das wars|war s|wars|stopp|abbrechen|\
    vergiss es|vergiss|tschüss|genug|merci|merci beaucoup|terminé|arrête|annule|laisse tomber|gracias|\
    muchas gracias|listo|para|cancela|olvídalo|obrigado|obrigada|grazie|basta|спасибо|готово|стоп|\
    хватит|отмена|забудь|teşekkürler|dziękuję|dzięki|bedankt|tack|tak skal du have|شكرا|شكراً|धन्यवाद|\
    谢谢|谢谢你|谢谢您|多谢|感谢|完成|完成了|做完了|结束|结束了|好了|停|停止|停下|取消|算了|不用了|再见|謝謝|多謝|ありがとう|ありがとうございます|終わり|終了|やめて|中止|\
    감사합니다|고마워|고마워요|끝|그만|취소|됐어";

/// Whether a list separated by `|` contains that item.
fn holds(list: &str, item: &str) -> bool {
    list.split('|').any(|listed| listed == item)
}

/// Classifies a message by its words alone. A message whose clauses are all phrases of the two lists is no task: it
/// goes on if one of them says so. One without a word (a thumb, a picture) goes on.
pub fn intent(text: &str) -> Intent {
    let mut goes_on = false;
    let mut ends = false;
    for clause in text.split([',', '.', '!', '?', ';', ':', '\n', '，', '。', '！', '？', '；', '、', '…', '~', '～'])
    {
        let lower = clause.to_lowercase().replace(['’', '\''], " ");
        let words: Vec<&str> = lower
            .split(|c: char| !c.is_alphanumeric() && c != '-' && !is_mark(c))
            .filter(|word| !word.is_empty())
            .collect();
        let whole = words.join(" ");
        let kept: Vec<&str> = words.iter().copied().filter(|word| !holds(FILLERS, word)).collect();
        let kept = kept.join(" ");
        let is_among = |list: &str| holds(list, &whole) || holds(list, &kept);
        // A compound of two: "ok thanks", "yes continue".
        let parted = |list: &str| {
            let mut parts = kept.split(' ');
            kept.contains(' ') && parts.all(|word| holds(CONTINUE, word) || holds(END, word)) && {
                kept.split(' ').any(|word| holds(list, word))
            }
        };
        // A number or a letter answers a question with several choices.
        if whole.is_empty() || kept.is_empty() || kept.parse::<u64>().is_ok() || kept.len() == 1 {
            continue;
        } else if is_among(END) || !is_among(CONTINUE) && parted(END) {
            ends = true;
        } else if is_among(CONTINUE) || parted(CONTINUE) {
            goes_on |= !is_assent(&kept);
        } else {
            return Intent::Task;
        }
    }
    if ends && !goes_on { Intent::End } else { Intent::Continue }
}

/// Combining marks of scripts that write vowels with them.
fn is_mark(character: char) -> bool {
    matches!(character, '\u{900}'..='\u{903}' | '\u{93a}'..='\u{94f}')
}

/// Words that agree with the rest of the message: "ok, thanks" ends, "thanks, continue" does not.
fn is_assent(word: &str) -> bool {
    const ASSENT: &str = "ok|okay|k|yes|yeah|yep|y|sure|right|ja|oui|sí|si|sim|да|хорошо|好|好的|行|嗯|对|是的|はい|네";
    holds(ASSENT, word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_that_continues_is_not_a_task_in_any_language() {
        for text in [
            "continue",
            "Continue.",
            "go on",
            "Go on!",
            "please continue",
            "ok",
            "yes, go ahead",
            "weiter",
            "Mach weiter bitte",
            "继续",
            "继续。",
            "请继续",
            "好的，继续",
            "続けて",
            "계속해줘",
            "продолжай",
            "sigue",
            "vas-y",
            "👍",
            "",
            "  \n",
            "devam et",
            "do it",
            "thanks, continue",
            "yes",
            "next",
            "try again",
            "जारी रखें",
            "no",
            "不",
            "1",
            "42",
            "b",
        ] {
            assert_eq!(intent(text), Intent::Continue, "{text}");
        }
    }

    #[test]
    fn thanks_and_stop_end_it() {
        for text in [
            "thanks",
            "Thank you very much!",
            "ok, thanks",
            "ok thanks",
            "stop",
            "never mind",
            "danke",
            "谢谢",
            "好的，谢谢",
            "算了",
            "ありがとうございます",
            "done",
            "That's all, thanks.",
        ] {
            assert_eq!(intent(text), Intent::End, "{text}");
        }
    }

    #[test]
    fn everything_else_is_a_task() {
        for text in [
            "continue with the second file",
            "go on holiday planning",
            "write a poem",
            "继续写第二章",
            "mach weiter mit dem Test",
            "stop the server",
            "thanks, now write the tests",
            "ok but in blue",
            "谢谢，再写一个测试",
            "next.js or remix",
            "Ada",
        ] {
            assert_eq!(intent(text), Intent::Task, "{text}");
        }
    }
}
