package words

var japanese = Words{
	Open:    "ForeverVMを開く",
	Pause:   "すべてのマシンを一時停止",
	AtLogin: "ログイン時に起動",
	Quit:    "終了",
	Connect: "AIアプリを接続…",
	Apps:    "AIアプリ：%s",

	ResumeOne:  "1台のマシンを再開",
	ResumeMany: "%d台のマシンを再開",
	OnePaused:  "1台のマシンが一時停止中です",
	ManyPaused: "%d台のマシンが一時停止中です",

	NothingRuns: "実行中のものはありません",
	OneRuns:     "1台のマシンが実行中",
	ManyRun:     "%d台のマシンが実行中",
	AndMore:     "ほか%d台",
	NewStep:     "%s：新しいステップ 1",
	NewSteps:    "%s：新しいステップ %d",
	NewFailed:   "%s：失敗",
	Attention:   "ForeverVMを確認してください",

	QuitTitle: "ForeverVMを終了しますか？",
	OneStays:  "1台のマシンが実行中です。このウィンドウがなくても実行は続き、何も失われません。見るにはForeverVMをもう一度開いてください。今終了しますか？",
	ManyStay:  "%d台のマシンが実行中です。このウィンドウがなくても実行は続き、何も失われません。見るにはForeverVMをもう一度開いてください。今終了しますか？",
	StillHere: "ForeverVMは動作しています",
	InTheTray: "トレイのアイコンからウィンドウを開けます。アイコンのメニューの「%s」で終了します。",

	Asks:         "%s からの確認",
	WantsToReach: "%s に接続しようとしています。ForeverVMを開いて答えてください。",
	Wants:        "%s が %s に接続しようとしています。",
	WantsBack:    "%s が %s を以前の状態に戻そうとしています。",
	WantsMemory:  "%s がメモリーの多いマシンを求めています。",
	ToAnswer:     "ForeverVMを開いて答えてください。",
	Finished:     "コードが%sで完了しました。",
	Failed:       "コードが%s後にエラーで停止しました。",

	Disconnected: "%s の接続が切れました",
	Overwrote:    "アプリが設定を上書きしました。ForeverVMを開いて接続を修復してください。",
	Connected:    "%s を接続しました",
	CanRun:       "このコンピューターのマシンでPythonを実行できます。その作業はForeverVMで見られます。",

	LoginUnchanged: "ログイン時の起動を変更できませんでした",

	Minute:  "1分",
	Minutes: "%d分",
	Hour:    "1時間",
	Hours:   "%d時間",
	And:     "%s%s",
}
