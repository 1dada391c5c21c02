package words

var portuguese = Words{
	Open:    "Abrir o ForeverVM",
	Pause:   "Pausar todas as máquinas",
	AtLogin: "Iniciar ao entrar no sistema",
	Quit:    "Sair",
	Connect: "Conectar um app de IA…",
	Apps:    "Apps de IA: %s",

	ResumeOne:  "Retomar 1 máquina",
	ResumeMany: "Retomar %d máquinas",
	OnePaused:  "1 máquina está em pausa",
	ManyPaused: "%d máquinas estão em pausa",

	NothingRuns: "Nada em execução",
	OneRuns:     "1 máquina em execução",
	ManyRun:     "%d máquinas em execução",
	AndMore:     "e mais %d",
	NewStep:     "%s: 1 etapa nova",
	NewSteps:    "%s: %d etapas novas",
	NewFailed:   "%s: falhou",
	Attention:   "O ForeverVM precisa da sua atenção",

	QuitTitle: "Sair do ForeverVM?",
	OneStays:  "Uma máquina está em execução. Ela continua sem esta janela, e nada se perde. Abra o ForeverVM de novo para vê-la. Sair agora?",
	ManyStay:  "%d máquinas estão em execução. Elas continuam sem esta janela, e nada se perde. Abra o ForeverVM de novo para vê-las. Sair agora?",
	StillHere: "O ForeverVM continua aqui",
	InTheTray: "O ícone na bandeja abre a janela de novo. “%s”, no menu do ícone, encerra o programa.",

	Asks:         "%s pergunta",
	WantsToReach: "Ela quer se conectar a %s. Abra o ForeverVM para responder.",
	Wants:        "%s quer se conectar a %s.",
	WantsBack:    "%s quer levar %s de volta a um estado anterior.",
	WantsMemory:  "%s quer uma máquina com mais memória.",
	ToAnswer:     "Abra o ForeverVM para responder.",
	Finished:     "O código terminou após %s.",
	Failed:       "O código parou com um erro após %s.",

	Disconnected: "%s está desconectado",
	Overwrote:    "O app sobrescreveu as configurações. Abra o ForeverVM para reparar a conexão.",
	Connected:    "%s está conectado",
	CanRun:       "Agora ele pode executar Python em máquinas neste computador. O ForeverVM mostra o que ele faz.",

	LoginUnchanged: "O início ao entrar no sistema não pôde ser mudado",

	Minute:  "1 minuto",
	Minutes: "%d minutos",
	Hour:    "1 hora",
	Hours:   "%d horas",
	And:     "%s e %s",
}
