"""What people read in the forms, in Chinese, by the English text; and what checks say of their work.

`{}` stands for what is put in. Guidelines and worked examples are files of their own: `guideline.*.zh.md` and
`examples.*.zh.yaml`.
"""

CHINESE = {
    # ---- all forms ----
    "Question": "问题",
    "Answer": "答案",
    "Answers": "答案",
    "Right answer": "正确答案",
    "Right answers": "正确答案",
    "keep": "保留",
    "edit": "修改",
    "reject": "拒绝",
    "yes": "是",
    "no": "否",
    # ---- confusing facts ----
    "Is it a good confusing fact?": "这是合格的干扰事实吗？",
    "The original fact": "原事实",
    "The confusing fact": "干扰事实",
    "Is it like the original, without answering the question or contradicting the original?":
        "它与原事实相似，既不回答问题，也不与原事实矛盾吗？",
    "The confusing fact, corrected": "干扰事实（改正后）",
    "One sentence of plain prose that names no right answer": "一句平实的陈述，不出现任何正确答案",
    # ---- replacements and their conflicts ----
    "Which keywords do we replace, and with what?": "替换哪些关键词，换成什么？",
    "Proposed rules": "建议的规则",
    "Sentences that contain the keywords": "含有关键词的句子",
    "Are these the right keywords to replace, each with a good substitute?":
        "该替换的就是这些关键词吗？替换词都合适吗？",
    "The rules, corrected: one per line, keyword -> substitute": "规则（改正后）：每行一条，关键词 -> 替换词",
    "Albert Einstein -> Paul Hartmann": "林徽因 -> 沈若兰",
    "What goes wrong when the keywords are replaced?": "替换关键词会出什么问题？",
    "The rules": "规则",
    "What goes wrong": "出现的问题",
    "Can the rules stay as they are? A rule in conflict will be left out.":
        "规则可以原样保留吗？有冲突的规则会被去掉。",
    # ---- keywords and the blacklist ----
    "What must a right answer contain?": "正确答案必须包含哪些词？",
    "Proposed keywords": "建议的关键词",
    "Must a right answer contain the proposed words, and no others? To edit, mark all that it must contain.":
        "正确答案必须包含的，就是建议的这些词吗？要修改，请标出必须包含的所有词。",
    "Keyword": "关键词",
    "Does the word mean something by itself?": "这个词本身有实际意义吗？",
    "Word": "词",
    "Answers that contain it": "含有它的答案",
    # ---- answerable without context ----
    "Can it be answered without the text?": "不看原文能回答吗？",
    "Would common sense or general knowledge give this answer, without the text?":
        "不看原文，凭常识或一般知识能得出这个答案吗？",
    # ---- what checks say of a confusing fact ----
    "subject fact {}": "换主体的干扰事实{}",
    "object fact {}": "换内容的干扰事实{}",
    "is missing": "没有写",
    "write one": "请写一句",
    "is no statement": "不是陈述句",
    "it is to end with a full stop": "应以句号结尾",
    "holds a character that is no text": "含有不是文字的字符",
    "has a bracket or quotation mark without its other half": "的括号或引号不成对",
    "write both, or none": "请写成对，或者都不写",
    "is too long": "太长",
    "it has {} characters, at most {} are wanted": "现有 {} 个字，最多 {} 个字",
    "repeats the sentence": "重复了原句",
    "write something else than the sentence": "请写与原句不同的内容",
    "resembles nothing": "与原句不相似",
    "of the question and the sentence it has {} meaningful characters, {} are wanted":
        "与问题和原句相同的实义字只有 {} 个，至少要有 {} 个",
    "holds the answer": "含有答案",
    "{} must not stand in it": "其中不能出现 {}",
    "has the same subject": "没有换主体",
    "it says most of what is asked, and of the same": "说的还是同一主体，而且说到了所问的大部分内容",
    "write of another than {}": "请写 {} 以外的主体",
    "has another subject": "换了主体",
    "name the subject of the question in it: {}": "请在句中写出问题的主体：{}",
    "may answer the question": "可能回答了问题",
    "it says all that the question asks about; leave some of it out, or change it":
        "说到了问题所问的全部内容，请去掉或改动一部分",
    "contradicts the sentence": "与原句矛盾",
    "it says the same with another answer; say something else of the subject":
        "与原句相同，只是换了答案；请写该主体的另一件事",
    # ---- of keywords ----
    "no keyword": "没有关键词",
    "mark one word of the answer at least": "请至少标出答案中的一个词",
    "keyword is no word of the answer": "关键词不是答案里的词",
    "{} must stand in {}, in its order": "{} 必须按顺序出现在 {} 中",
    "keywords tell nothing": "关键词没有实际意义",
    "{} are words that stand in any answer; mark one that tells": "{} 在什么答案里都会出现，请标出有实际意义的词",
    # ---- of rules ----
    "{} is no rule; write `keyword -> substitute`": "{} 不是规则，请写成“关键词 -> 替换词”",
    "it touches the headers of documents": "与文档的标题行有重叠",
    "the substitute stands there already": "替换词在文中本来就有",
    "the keyword stands there as a common word too": "关键词在那里也是普通词语",
    "the keyword stands inside a longer name": "关键词在那里是更长名称的一部分",
    "a part of the name goes on to stand there": "名称的一部分还留在那里",
    "another name of the same thing goes on to stand there": "同一事物的别名还留在那里",
    "the answer no longer follows": "再也得不出答案",
    "it cannot be undone": "无法还原",
    "another rule for the same name is left out": "同一名称的另一条规则被去掉了",
    "it does not go with another rule": "与另一条规则冲突",
    "an earlier version had this substitute": "以前的版本用过这个替换词",
    "take none of these: {}": "请不要用这些：{}",
    "in {} of {} documents": "{1} 篇文档中有 {0} 篇",
    "in {} and more of {} documents": "{1} 篇文档中至少有 {0} 篇",
    "since {} is left out": "因为去掉了 {}",
    "{} is left out": "{} 已去掉",
    "there is {}": "已有 {}",
    "{} would be {}": "{} 会变成 {}",
    "{} in": "{} 出现在",
    "one side is empty; write a keyword and a substitute": "有一边是空的，请写出关键词和替换词",
    "one side has no letter or digit, so it cannot be found as a whole word":
        "有一边没有文字或数字，无法作为完整的词来查找",
    "the substitute is the keyword, whatever the case; write another": "替换词与关键词相同，请另写一个",
    "the keyword has another substitute as well, {}; keep one": "关键词还有另一个替换词 {}，请只留一个",
    "the substitute stands for {} too, so it cannot be undone; write another":
        "替换词也用来替换 {}，无法还原，请另写一个",
    "the substitute holds the keyword {}; write one that holds no keyword":
        "替换词含有关键词 {}，请写一个不含关键词的",
}  # fmt: skip
