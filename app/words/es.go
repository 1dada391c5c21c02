package words

var spanish = Words{
	Open:    "Abrir ForeverVM",
	Pause:   "Pausar todas las máquinas",
	AtLogin: "Iniciar al entrar en la sesión",
	Quit:    "Salir",
	Connect: "Conectar una app de IA…",
	Apps:    "Apps de IA: %s",

	ResumeOne:  "Reanudar 1 máquina",
	ResumeMany: "Reanudar %d máquinas",
	OnePaused:  "1 máquina está en pausa",
	ManyPaused: "%d máquinas están en pausa",

	NothingRuns: "Nada en marcha",
	OneRuns:     "1 máquina en marcha",
	ManyRun:     "%d máquinas en marcha",
	AndMore:     "y %d más",
	NewStep:     "%s: 1 paso nuevo",
	NewSteps:    "%s: %d pasos nuevos",
	NewFailed:   "%s: falló",
	Attention:   "ForeverVM necesita tu atención",

	QuitTitle: "¿Salir de ForeverVM?",
	OneStays:  "Hay una máquina en marcha. Sigue en marcha sin esta ventana, y nada se pierde. Abre ForeverVM de nuevo para verla. ¿Salir ahora?",
	ManyStay:  "Hay %d máquinas en marcha. Siguen en marcha sin esta ventana, y nada se pierde. Abre ForeverVM de nuevo para verlas. ¿Salir ahora?",
	StillHere: "ForeverVM sigue aquí",
	InTheTray: "Su icono en la bandeja abre de nuevo la ventana. «%s», en el menú del icono, lo cierra.",

	Asks:         "%s pregunta",
	WantsToReach: "Quiere conectarse a %s. Abre ForeverVM para responder.",
	Wants:        "%s quiere conectarse a %s.",
	WantsBack:    "%s quiere devolver %s a un estado anterior.",
	WantsMemory:  "%s quiere una máquina con más memoria.",
	ToAnswer:     "Abre ForeverVM para responder.",
	Finished:     "El código terminó después de %s.",
	Failed:       "El código se detuvo con un error después de %s.",

	Disconnected: "%s está desconectada",
	Overwrote:    "La app sobrescribió sus ajustes. Abre ForeverVM para reparar la conexión.",
	Connected:    "%s está conectada",
	CanRun:       "Ahora puede ejecutar Python en máquinas de este ordenador. ForeverVM muestra lo que hace.",

	LoginUnchanged: "No se pudo cambiar el inicio con la sesión",

	Minute:  "1 minuto",
	Minutes: "%d minutos",
	Hour:    "1 hora",
	Hours:   "%d horas",
	And:     "%s y %s",
}
