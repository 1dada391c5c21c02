package words

var chinese = Words{
	Open:    "打开 ForeverVM",
	Pause:   "暂停所有机器",
	AtLogin: "登录时启动",
	Quit:    "退出",
	Connect: "连接 AI 应用…",
	Apps:    "AI 应用：%s",

	ResumeOne:  "恢复 1 台机器",
	ResumeMany: "恢复 %d 台机器",
	OnePaused:  "1 台机器已暂停",
	ManyPaused: "%d 台机器已暂停",

	NothingRuns: "没有正在运行的内容",
	OneRuns:     "1 台机器正在运行",
	ManyRun:     "%d 台机器正在运行",
	AndMore:     "还有 %d 台",
	NewStep:     "%s：1 个新步骤",
	NewSteps:    "%s：%d 个新步骤",
	NewFailed:   "%s：失败",
	Attention:   "ForeverVM 需要你的注意",

	QuitTitle: "退出 ForeverVM？",
	OneStays:  "1 台机器正在运行。没有此窗口它也会继续运行，不会丢失任何内容。再次打开 ForeverVM 即可查看。现在退出吗？",
	ManyStay:  "%d 台机器正在运行。没有此窗口它们也会继续运行，不会丢失任何内容。再次打开 ForeverVM 即可查看。现在退出吗？",
	StillHere: "ForeverVM 仍在运行",
	InTheTray: "托盘中的图标可以再次打开窗口。图标菜单中的“%s”会结束它。",

	Asks:         "%s 询问",
	WantsToReach: "它想访问 %s。打开 ForeverVM 来回答。",
	Wants:        "%s 想访问 %s。",
	WantsBack:    "%s 想将 %s 恢复到以前的状态。",
	WantsMemory:  "%s 想要一台内存更大的机器。",
	ToAnswer:     "打开 ForeverVM 来回答。",
	Finished:     "代码在 %s 后完成。",
	Failed:       "代码在 %s 后因错误停止。",

	Disconnected: "%s 已断开",
	Overwrote:    "应用覆盖了它的设置。打开 ForeverVM 来修复连接。",
	Connected:    "%s 已连接",
	CanRun:       "它现在可以在这台电脑的机器中运行 Python。ForeverVM 会显示它做了什么。",

	LoginUnchanged: "无法更改登录时启动",

	Minute:  "1 分钟",
	Minutes: "%d 分钟",
	Hour:    "1 小时",
	Hours:   "%d 小时",
	And:     "%s %s",
}
