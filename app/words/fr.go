package words

var french = Words{
	Open:    "Ouvrir ForeverVM",
	Pause:   "Suspendre toutes les machines",
	AtLogin: "Démarrer à l’ouverture de session",
	Quit:    "Quitter",
	Connect: "Connecter une appli d’IA…",
	Apps:    "Applis d’IA : %s",

	ResumeOne:  "Reprendre 1 machine",
	ResumeMany: "Reprendre %d machines",
	OnePaused:  "1 machine est suspendue",
	ManyPaused: "%d machines sont suspendues",

	NothingRuns: "Rien en cours",
	OneRuns:     "1 machine en cours",
	ManyRun:     "%d machines en cours",
	AndMore:     "et %d de plus",
	NewStep:     "%s : 1 nouvelle étape",
	NewSteps:    "%s : %d nouvelles étapes",
	NewFailed:   "%s : échec",
	Attention:   "ForeverVM demande votre attention",

	QuitTitle: "Quitter ForeverVM ?",
	OneStays:  "Une machine est en cours. Elle continue sans cette fenêtre, et rien n’est perdu. Rouvrez ForeverVM pour la voir. Quitter maintenant ?",
	ManyStay:  "%d machines sont en cours. Elles continuent sans cette fenêtre, et rien n’est perdu. Rouvrez ForeverVM pour les voir. Quitter maintenant ?",
	StillHere: "ForeverVM est toujours là",
	InTheTray: "Son icône dans la zone de notification rouvre la fenêtre. « %s », dans le menu de l’icône, y met fin.",

	Asks:         "%s demande",
	WantsToReach: "Elle veut joindre %s. Ouvrez ForeverVM pour répondre.",
	Wants:        "%s veut joindre %s.",
	WantsBack:    "%s veut ramener %s à un état antérieur.",
	WantsMemory:  "%s veut une machine avec plus de mémoire.",
	ToAnswer:     "Ouvrez ForeverVM pour répondre.",
	Finished:     "Le code est terminé après %s.",
	Failed:       "Le code s’est arrêté sur une erreur après %s.",

	Disconnected: "%s est déconnectée",
	Overwrote:    "L’appli a écrasé ses réglages. Ouvrez ForeverVM pour réparer la connexion.",
	Connected:    "%s est connectée",
	CanRun:       "Elle peut maintenant exécuter du Python dans des machines sur cet ordinateur. ForeverVM montre ce qu’elle fait.",

	LoginUnchanged: "Le démarrage à l’ouverture de session n’a pas pu être modifié",

	Minute:  "1 minute",
	Minutes: "%d minutes",
	Hour:    "1 heure",
	Hours:   "%d heures",
	And:     "%s et %s",
}
