"""What people read in the form, in Chinese, by the English text."""

CHINESE = {
    "Does the passage support the answer?": "段落支持这个答案吗？",
    "Passage": "段落",
    "Question": "问题",
    "Answer": "答案",
    "Can the passage be read and understood?": "段落能读懂吗？",
    "Does the passage support this answer to the question?": "对这个问题，段落支持这个答案吗？",
    "yes": "是",
    "no": "否",
}
