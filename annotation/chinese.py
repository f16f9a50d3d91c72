"""All that our forms, guidelines, tasks and the page of people's work say themselves, in Chinese, by the English text.

`{}` stands for what is put in. Label Studio's own buttons stay English, so they are named as they are on the page.
"""

CHINESE = {
    "{}: {}": "{}：{}",
    "{} {}": "{}{}",
    ", ": "、",
    # ---- the form ----
    "* required · saved as you type": "* 必填 · 文字边写边存",
    "· Enter submits, in a box Ctrl+Enter · Backspace: the task before":
        "· Enter 提交，在文本框内用 Ctrl+Enter · Backspace 回到上一题",
    "* required · guideline: Instructions": "* 必填 · 指南见 Instructions",
    "· Shift+Enter in a box saves a draft · Ctrl+Enter outside submits":
        "· 在文本框内按 Shift+Enter 保存草稿 · 在文本框外按 Ctrl+Enter 提交",
    "Submits · Esc keeps the task open, Backspace takes the answer back":
        "即将提交 · 按 Esc 留在此题，按 Backspace 收回回答",
    "This would come back: {}": "提交后会退回：{}",
    "The reviewer will be told: {}": "会提醒审核员：{}",
    "Question to the engineer": "向工程师提问",
    "Is anything unclear, or wrong with this task? May stay empty.":
        "有看不懂的地方，或者题目本身有问题吗？没有可以不填。",
    "Press {}, then draw over the words. To remove a mark, click it and press Backspace.":
        "先按 {}，再用鼠标划出词语。要取消标记，点一下它，再按 Backspace。",
    "the button": "按钮",
    "All parts at once": "所有部分一起",
    "The parts that are left": "其余各部分",
    "Then mark the words.": "然后标记词语。",
    "Then say why.": "然后说明理由。",
    "Not answered yet: {}": "还没有回答：{}",
    "Not written yet: {}": "还没有填写：{}",
    "suggested: check it, or write your own": "程序的建议：请核对，或者自己写",
    "yours, of the earlier version": "您在上一个版本里写的",
    "No suggestion: {}": "没有建议：{}",
    "{} earlier turns are left out here": "此处省略前面的 {} 轮",
    "[… {} characters of the text are left out here …]": "［……此处省略 {} 个字符……］",
    # ---- the guideline ----
    "Examples on which people differed": "大家意见不一的例子",
    "Why": "理由",
    "Version {}.": "第 {} 版。",
    "Keys": "快捷键",
    "Submit": "提交（Submit）",
    "Skip the task": "跳过此题（Skip）",
    "Save a box as a draft": "把文本框里的文字存为草稿",
    "outside a box": "在文本框外按",
    "in it": "在文本框内按",
    "then draw over the words": "再用鼠标划出词语",
    "then": "然后",
    "choose a word,": "选一个词，",
    "several,": "选几个词，",
    "marks them": "标记",
    "Go back to the task before": "回到上一题",
    """
<p class="kept">Your texts are saved as you type. To ask the engineer and go on: write your question, then skip.</p>
<p class="kept keys">With keys alone: if nothing is left to write, the last answer submits by itself after a moment.
Until then <kbd>Esc</kbd> keeps the task open, <kbd>Backspace</kbd> takes the answer back, and another key changes it.
Afterwards, <kbd>Backspace</kbd> goes back to the task. If there is something to write, you are in its box, and
<kbd>Tab</kbd> leads to the next. Typing replaces a suggestion; <kbd>↑</kbd> in the empty box brings it back.</p>
<p class="unkept">Your texts are saved when you submit. If you leave the page or skip the task before, a text is lost
unless you pressed <kbd>Shift</kbd> + <kbd>Enter</kbd> in its box. To ask the engineer and go on: write your question,
press <kbd>Shift</kbd> + <kbd>Enter</kbd>, then skip.</p>
<p class="kept">A skipped task comes back to you later, with what you chose and wrote.</p>
<p class="unkept">A skipped task comes back to you later, as it was at first.</p>
""": """
<p class="kept">您写的文字会自动保存。想问工程师、先做下一题：写好问题，再跳过此题。</p>
<p class="kept keys">只用键盘：如果没有要写的，最后一个回答片刻后自动提交。提交前按 <kbd>Esc</kbd> 留在此题，\
按 <kbd>Backspace</kbd> 收回回答，按别的键改回答；提交后按 <kbd>Backspace</kbd> 回到上一题。\
如果有要写的，光标已在文本框内，按 <kbd>Tab</kbd> 到下一个文本框。\
直接写就会替换建议；在空文本框内按 <kbd>↑</kbd> 恢复建议。</p>
<p class="unkept">您写的文字在提交时保存。如果提交前离开页面或跳过此题，\
没有在文本框内按过 <kbd>Shift</kbd> + <kbd>Enter</kbd> 的文字就会丢失。\
想问工程师、先做下一题：写好问题，按 <kbd>Shift</kbd> + <kbd>Enter</kbd>，再跳过此题。</p>
<p class="kept">跳过的题以后还会回到您这里，您选过和写过的都还在。</p>
<p class="unkept">跳过的题以后还会回到您这里，恢复到最初的样子。</p>
""",
    # ---- practice ----
    "Practice: {}": "练习：{}",
    "Feedback on your last answer": "对您上次回答的反馈",
    "If your answer is wrong, you will find the right one here afterwards.": "如果答错了，之后会在这里看到正确答案。",
    "Your answer “{}” is correct.": "您的回答“{}”正确。",
    "Your answer “{}” is near enough to “{}”.": "您的回答“{}”与“{}”足够接近。",
    "Your answer was “{}”. The correct answer is “{}”.": "您的回答是“{}”，正确答案是“{}”。",
    "You gave no answer. The correct answer is “{}”.": "您没有回答，正确答案是“{}”。",
    "Why: {}": "理由：{}",
    "Right or wrong? {}": "对还是错？{}",
    "{}: is it as it should be?": "{}：符合要求吗？",
    "right": "对",
    "wrong": "错",
    # ---- review and revision ----
    "Review: {}": "审核：{}",
    "{}: corrected": "{}（改正后）",
    "The text as it should be": "写出正确的文字",
    "Comment for the author": "给作者的意见",
    "What is wrong, and what to do about it": "哪里不对，应该怎么改",
    "The author's choices and notes": "作者的选择和备注",
    "{}: the author's": "{}（作者的）",
    "Warnings of the checks": "自动检查的提醒",
    "{}: is it right as it stands?": "{}：现在这样对吗？",
    "accept": "接受",
    "fix": "改正",
    "reject": "拒绝",
    "none": "无",
    "Back from review: {}": "退回修改：{}",
    "Why it came back to you": "为什么退回给您",
    "Rejected: {}": "被拒绝：{}",
    "Corrected: {}": "已改正：{}",
    "Do you agree? If you do not, say why in the question to the engineer.":
        "您同意吗？如果不同意，请在“向工程师提问”里说明理由。",
    "yes": "是",
    "no": "否",
    "What you wrote, as it is now": "您写的文字，现在是这样",
    "A reviewer accepted your work and corrected it, as marked here. You need not change anything.":
        "审核员接受了您的工作，并作了改正，改动已标出。您不用再改。",
    "The reviewer also corrected other parts; they are in the boxes as corrected.":
        "审核员还改正了其他部分，文本框里是改正后的文字。",
    "Comment: {}": "意见：{}",
    "is empty": "是空的",
    "you said that you fixed it, but no text was changed": "您选择了修改，但文字没有任何改动",
    "submitted unchanged, and no reason was given": "原样提交了建议，又没有说明理由",
    # ---- where people differ ----
    "People disagree: {}": "意见不一：{}",
    "Use it also as": "还可以用作",
    "nothing": "不作他用",
    "a known answer": "已知答案题",
    "a worked example": "指南范例",
    "Why this is right. It goes with a known answer or example.":
        "为什么这样才对。用作已知答案题或范例时，会附上这段话。",
    "People answered this differently. Decide what is right; it may be the answer of none of them.":
        "大家对此题的回答不同。请您判定怎样才对；也可能所有人的回答都不对。",
    "A decision on this does not count, for the reasons below. Its texts are in the boxes: correct them and submit.":
        "对此题的判定无效，原因如下。判定的文字在文本框里，请改正后提交。",
    "(not changed)": "（未改动）",
    "First person": "甲",
    "Second person": "乙",
    "Third person": "丙",
    "Person {}": "第 {} 人",
    # ---- tasks that changed ----
    "This task has changed since you did it. Your work on it no longer counts: please do it again.":
        "您做过之后，此题有了变动，之前的结果不再有效，请重新做一次。",
    "This task has changed since it was done. It has to be done again.": "此题做过之后有了变动，需要重新做。",
    "The texts are in the boxes again: check that they still fit, then submit.":
        "之前的文字已放回文本框，请检查是否仍然合适，再提交。",
    "You answered:": "您之前的回答：",
    "only spaces or line breaks": "只有空格或换行不同",
    # ---- the questionnaire ----
    "Your view: {}": "您的看法：{}",
    "You have done all your tasks": "您的题目已全部完成",
    "Please tell us how the work was.": "请告诉我们您对这项工作的感受。",
    # ---- the project's card ----
    "Open it and press Label All Tasks; the guideline opens first. Finished tasks are under Done.":
        "打开后点 Label All Tasks 开始，会先显示指南。做完的题在 Done 标签下。",
    "Nothing to do here now. Tasks come by themselves; you need not import any.":
        "现在没有要做的题。新题会自动出现，您不用导入。",
    "Please leave the last line of this description as it is: it identifies the project.":
        "请不要改动这段说明的最后一行：系统靠它识别项目。",
}  # fmt: skip

YOUR_WORK = {
    ", ": "、",
    "Your work": "您的工作",
    "Projects": "项目",
    "Account": "账号",
    "Log out": "退出登录",
    "{} task": "{} 题",
    "{} tasks": "{} 题",
    "{} hours": "{} 小时",
    "{} minute": "{} 分钟",
    "{} minutes": "{} 分钟",
    "{}, about {}.": "共 {}，约 {}。",
    "opens the first queue.": "打开第一组题。",
    "Do these first: they explain what is right and why.": "请先做这些：会说明怎样才对、为什么。",
    "Please change these. Each says at its top why it came back.": "请修改这些。每题上方写有退回的原因。",
    "A reviewer corrected your text. Say whether you agree.": "审核员改正了您的文字。请说明您是否同意。",
    "Other people wait for you to look at these.": "别人在等您审核这些。",
    "People answered these differently. Decide what is right.": "大家对这些题的回答不同。请判定怎样才对。",
    "You have done all your tasks. Say how the work was.": "您的题目已全部完成。请告诉我们您对这项工作的感受。",
    ", about {}": "，约 {}",
    ", about {}, at a guess": "，粗略估计约 {}",
    "{} done": "已完成 {} 题",
    "{} done, {} to do": "已完成 {} 题，还有 {} 题",
    "and {} more": "另有 {} 题",
    "Nothing to do now. New tasks come by themselves; this page looks for them every half minute.":
        "现在没有要做的题。新题会自动出现，本页每半分钟刷新一次。",
    "Your hours": "您的工时",
    "Today": "今天",
    "This week": "本周",
    "{} h {:02} min": "{} 小时 {:02} 分钟",
    "{}, {}": "{}，{}",
    "Practice and skipped tasks are among them. A task counts for as long as its form was open; weeks "
    "begin on Monday, in UTC.":
        "练习题和跳过的题也计算在内。每题按打开的时间计算；一周从星期一开始，按协调世界时（UTC）。",
    "Done: {}, of which {} counts": "已完成 {}，其中 {} 题有效",
    "Done: {}, of which {} count": "已完成 {}，其中 {} 题有效",
    "Form": "表单",
    "Done": "已完成",
    "Count": "有效",
    "No longer": "不再有效",
    "{} another task now": "{} 题已换成新题",
    "{} no longer asked": "{} 题不再需要",
    "Your code is": "您的代码是",
    "Return to Prolific with this code": "带此代码返回 Prolific",
    "This is the end of the study": "研究到此结束",
    "Thank you for trying. Some answers were not yet right after the second try, so we cannot give you more of "
    "these tasks. That says nothing about you: there is one particular way to judge them.":
        "谢谢您的尝试。第二次作答后仍有一些回答不对，所以我们不能再给您这类题目。\
这并不是对您的评价：这些题有一种特定的判断方法。",
    "This study is over for you": "您的这项研究已经结束",
    "Your time for this study is over, and your open tasks went to others. What you did is kept. Please return "
    "your submission, or write to us through the platform.":
        "您参加这项研究的时间已过，没做的题已交给别人，您做过的会保留。\
请在平台上退回您的提交，或者通过平台给我们写信。",
    "You have done all your tasks.": "您的题目已全部完成。",
    "You have done all your tasks. Your study is over. If you have no code of it yet, please write to us "
    "through the platform.": "您的题目已全部完成。您参加的研究已经结束。如果您还没有它的代码，请通过平台给我们写信。",
    "All done. Thank you!": "全部完成，谢谢您！",
    "Your answers are being looked at. This takes about a minute; the page renews itself.":
        "正在查看您的回答。大约需要一分钟，本页会自动刷新。",
    "Your first tasks are being prepared. This takes about a minute; the page renews itself.":
        "正在为您准备第一批题目。大约需要一分钟，本页会自动刷新。",
    "One moment": "请稍等",
}  # fmt: skip
"""The page of a person's work (`annotation/label_studio/page/your_work.py`), which has no other part of Touchstone."""
