import type { Words } from '.';
import { number } from './locale';

export const fr: Words = {
  product: 'ForeverVM',
  you: 'Vous',
  aProgram: 'Un programme',
  commandLine: 'Ligne de commande',
  programIn: (language) => `Programme ${language}`,

  ago: {
    now: 'à l’instant',
    minutes: (n) => `il y a ${n} min`,
    hours: (n) => `il y a ${n} h`,
    yesterday: 'hier',
    days: (n) => `il y a ${n} jours`,
  },

  states: {
    paused: 'Suspendue',
    swapped: 'En veille',
    waking: 'Se réveille',
    idle: 'Prête',
    running: 'En cours',
    swapping: 'S’endort',
    deleted: 'Dans la corbeille',
  },

  stateHints: {
    paused: 'Le code est enregistré en plein milieu. Cliquez sur Reprendre pour continuer.',
    swapped:
      'Tout est enregistré. Elle n’occupe pas de mémoire et se réveille automatiquement au prochain code.',
    waking: 'Son état enregistré se charge.',
    idle: 'Elle est en mémoire et attend du code.',
    running: 'Elle exécute du code.',
    swapping: 'Son état s’enregistre, puis sa mémoire est libérée.',
    deleted: 'Vous pouvez la récupérer dans la corbeille.',
  },

  list: {
    title: 'Machines',
    home: 'Page d’accueil',
    search: 'Rechercher des machines',
    create: 'Nouvelle machine',
    none: 'Pas encore de machine',
    noneHint: 'Les machines apparaissent ici dès que vous ou une appli d’IA en créez une.',
    failed: 'La dernière étape a échoué',
    unseen: (steps) => `${steps} ${steps === 1 ? 'nouvelle étape' : 'nouvelles étapes'}`,
    made: (app) => `${app} a créé une machine.`,
    watch: 'Regarder',
    working: (who) => `${who} travaille`,
    noMatch: 'Aucun résultat',
    clearSearch: 'Effacer la recherche',
    bin: 'Corbeille',
    backToMachines: 'Retour aux machines',
    binEmpty: 'La corbeille est vide',
    binHint:
      'Les machines supprimées restent ici sept jours, sauf si vous changez cela dans les réglages.',
    restore: 'Récupérer',
    purge: 'Supprimer définitivement',
    show: 'Afficher les machines',
    hide: 'Masquer les machines',
    which: 'Quelles machines',
    shown: { all: 'Toutes', awake: 'Actives', asleep: 'En veille', archived: 'Archives' },
    noneOfThese: 'Aucune machine ne correspond à ce filtre.',
    group: 'Grouper par utilisateur',
    unused: 'Pas encore utilisées d’ici',
    history: 'Dans l’historique',
    settings: 'Réglages',
    createWith: 'Nouvelle machine avec options…',
  },

  report: {
    title: 'Rapport des résultats',
    about:
      'Voici ce que les autres verront. Les étapes échouées, annulées ou sans résultat n’y sont pas.',
    long: 'Ce rapport est trop long pour être affiché ici. Enregistrez-le et ouvrez-le dans votre navigateur.',
    pdf: 'Enregistrer en PDF',
    page: 'Enregistrer comme page web',
    printing: 'Création du PDF…',
  },

  pack: {
    title: 'Enregistrer toute la machine dans un fichier',
    text: 'Pour un autre ordinateur ou une autre personne. Le fichier contient tout : variables, fichiers et travail effectué. Ouvrez-le avec la même version de ForeverVM.',
    warning:
      'Le fichier contient tout ce qui est dans cette machine, y compris les clés et les mots de passe. Toute personne qui a le fichier peut les lire. Ne le donnez qu’aux personnes autorisées.',
    confirm: 'Enregistrer le fichier',
    coming: (size) => `${size} pour l’instant`,
  },

  unpack: {
    menu: 'Ouvrir une machine depuis un fichier…',
    drop: 'Déposez le fichier d’une machine pour l’ouvrir',
    one: 'Un seul fichier à la fois, s’il vous plaît.',
    title: 'Ouvrir une machine depuis un fichier',
    looking: 'Lecture du fichier…',
    machine: 'Machine',
    saved: 'Enregistrée',
    savedBy: (when, program) => `${when}, par ForeverVM ${program}`,
    work: 'Travail',
    steps: (n, size) =>
      `${n === 1 ? '1 étape' : `${number(n)} étapes`}, ${size} de mémoire et de fichiers`,
    tags: 'Étiquettes',
    maker: 'Créée par',
    makers: {
      own: 'Cet ordinateur',
      accepted: 'Une personne dont vous avez déjà ouvert des fichiers',
      unknown: 'Une personne dont vous n’avez jamais ouvert de fichier',
    },
    fingerprint: 'Clé',
    warning:
      'L’auteur de ce fichier peut exécuter n’importe quel code dans sa machine. Ne l’ouvrez que si vous savez qui l’a envoyé. Pour en être sûr, demandez à cette personne quelle clé elle voit en l’ouvrant.',
    who: 'Qui l’a créé ?',
    whoHint: 'Son prochain fichier s’ouvrira sans cette question.',
    network: 'La machine n’a pas de réseau tant que vous ne l’autorisez pas.',
    confirm: 'Ouvrir',
    trust: 'Faire confiance et ouvrir',
    sending: 'Ouverture du fichier',
  },

  help: {
    title: 'Aide',
    contents: 'Sommaire',
    search: 'Rechercher dans l’aide',
    text: 'Le texte',
    more: 'En savoir plus',
    onlyEnglish: 'Ces textes existent seulement en anglais.',
  },

  create: {
    title: 'Nouvelle machine',
    memory: 'Limite de mémoire',
    engine: 'Où elle fonctionne',
    confirm: 'Créer',
  },

  memory: {
    title: 'Limite de mémoire',
    text: 'Ce que Python peut utiliser dans cette machine. Le changement prend effet immédiatement.',
  },

  palette: {
    title: 'Trouver une machine ou une commande',
    placeholder: 'Tapez pour trouver une machine ou une commande',
    groups: {
      machine: 'Cette machine',
      show: 'Afficher',
      machines: 'Machines',
      everywhere: 'ForeverVM',
    },
    search: (text) => `Chercher « ${text} » dans le travail`,
  },

  settings: {
    keys: 'Touches d’une lettre',
    keysHint:
      'N, C, J, K et d’autres sont des commandes quand vous n’écrivez pas. Ctrl+K les montre.',
    title: 'Réglages',
    appearance: 'Apparence',
    theme: 'Couleurs',
    themes: { system: 'Système', light: 'Clair', dark: 'Sombre' },
    contrast: 'Contraste',
    contrasts: { system: 'Système', more: 'Élevé' },
    language: 'Langue',
    systemLanguage: 'Système',
    languageNext: 'La nouvelle langue s’affiche à partir du prochain démarrage.',
    reload: 'Recharger maintenant',
    storage: 'Stockage',
    room: (used, free) => `ForeverVM occupe ${used}. Il reste ${free} sur le disque.`,
    folder: 'Tout se trouve dans',
    fields: {
      idle_swap: 'Mettre en veille les machines inactives après',
      keep_all_checkpoints: 'Garder tous les points de sauvegarde pendant',
      keep_hourly_checkpoints: 'Puis un par heure, jusqu’à',
      keep_daily_checkpoints: 'Puis un par jour, jusqu’à',
      bin_retention: 'Vider la corbeille après',
    },
    latestOnly: 'Seulement le dernier de chaque machine',
    budget: 'Place pour les anciens points de sauvegarde',
    budgetUsual: '10 Go, ou un dixième de la place libre si c’est moins',
    saved: 'Enregistré.',
    engines: 'Moteurs',
    enginesText: 'Un moteur est l’endroit où les machines fonctionnent.',
    usual: 'par défaut',
    works: 'Prêt',
    diagnostics: 'Diagnostic',
    diagnosticsText:
      'Pour la personne qui vous aide : versions, réglages, état des moteurs et des applis d’IA. Il ne contient ni code, ni résultats, ni mots de passe, ni jetons. Lisez-le avant de le partager.',
    collect: 'Rassembler',
  },

  space: {
    measuring: 'Mesure en cours…',
    shared: 'Python et ce que les machines partagent',
    packages: 'Paquets téléchargés',
    inBin: (name) => `${name} (dans la corbeille)`,
    more: (n) => (n === 1 ? 'Une machine de plus' : `${n} machines de plus`),
    free: 'Libérer de la place…',
    choose: 'Supprimer définitivement',
    bin: 'La corbeille',
    checkpoints: (n) =>
      n === 1 ? 'Un point de sauvegarde automatique' : `${n} points de sauvegarde automatiques`,
    means: {
      bin: 'Les machines supprimées ne peuvent plus être restaurées ensuite.',
      checkpoints:
        'Vous ne pourrez plus y revenir. Les machines, les branches et vos propres points restent.',
      packages: 'Une nouvelle machine les télécharge de nouveau. Les machines gardent les leurs.',
    },
    confirm: (size) => `Libérer environ ${size}`,
    freed: (size) => `${size} libérés.`,
  },

  place: {
    move: 'Déplacer vers un autre disque…',
    back: 'Ramener à l’endroit habituel…',
    choose: 'Dossier sur un autre disque',
    text: 'Les machines sont d’abord enregistrées. Rien ne peut s’exécuter avant la fin. Les anciens fichiers ne sont supprimés qu’une fois les nouveaux vérifiés.',
    confirm: 'Déplacer les fichiers',
    confirmBack: 'Ramener les fichiers',
    saving: 'Enregistrement des machines…',
    moving: (done: string, all: string) => `Déplacement : ${done} sur ${all}`,
    moved: 'Les fichiers sont déplacés.',
    away: 'ForeverVM déplace ses fichiers vers un autre disque…',
  },

  backups: {
    title: 'Sauvegardes',
    text: 'Chaque nuit, ForeverVM copie dans un dossier les machines qui ont changé. Choisissez-en un sur un autre disque ou un dossier synchronisé. Une copie contient tout ce que contient sa machine, y compris les clés et les mots de passe.',
    folder: 'Dossier',
    running: 'Sauvegarde en cours…',
    good: (when: string) => `Dernière sauvegarde réussie : ${when}.`,
    never: 'Aucune sauvegarde pour l’instant.',
    keep: 'Copies de chaque machine',
    machines: 'Machines à sauvegarder',
    start: 'Sauvegarder maintenant',
    other: 'Choisir un autre dossier…',
    stop: 'Arrêter les sauvegardes',
    choose: 'Choisir un dossier…',
    use: 'Utiliser ce dossier',
    restore:
      'Pour restaurer une machine, choisissez « Ouvrir une machine depuis un fichier… » puis sa copie. Une copie s’ouvre dans la version de ForeverVM qui l’a faite.',
  },

  updates: {
    title: 'Mises à jour',
    runs: (version) => `Ceci est la version ${version}.`,
    newest: (when) => `Vous avez la dernière version (vérifié ${when}).`,
    newer: (version) => `La version ${version} est disponible`,
    what: 'Vos machines sont d’abord enregistrées et continuent ensuite. Votre ordinateur peut demander le mot de passe d’administrateur.',
    install: (size) => `Télécharger ${size} et installer`,
    installReady: 'Installer',
    loading: (here, size) => `Téléchargement : ${here} sur ${size}`,
    installing: 'Installation. Votre ordinateur peut demander le mot de passe d’administrateur…',
    byHand:
      'Il n’y a pas de paquet pour cet ordinateur. Installez la nouvelle version comme vous avez installé celle-ci.',
    check: 'Rechercher des mises à jour une fois par jour',
    look: 'Rechercher maintenant',
    installed: (version) =>
      `ForeverVM ${version} est installé. Rechargez pour utiliser la nouvelle version.`,
  },

  welcome: {
    title: 'Votre IA peut exécuter du code ici, en sécurité',
    text: 'Une machine est un espace isolé sur votre propre ordinateur. Le code qui y tourne ne voit ni vos fichiers ni votre réseau, seulement l’internet public. Ce qu’il calcule y reste aussi longtemps que vous voulez, et vous pouvez suivre chaque étape.',
    ask: 'Demandez à votre appli d’IA',
    askText:
      'Dès que Claude Desktop ou une autre appli d’IA est connectée, demandez-lui une analyse. Sa machine apparaît à gauche, et vous voyez son travail en direct.',
    tryTitle: 'Ou essayez vous-même',
    tryText:
      'Créez une machine et exécutez un court exemple qui dessine un graphique. Rien ne peut mal se passer.',
    tryButton: 'Exécuter l’exemple',
    newButton: 'Machine vide',
    step: (n, of) => `Étape ${n} sur ${of}`,
    next: 'Suivant',
    back: 'Retour',
    skip: 'Passer',
    promises: [
      'Rien n’est perdu : variables et fichiers restent, même quand l’ordinateur est éteint.',
      'Vous voyez tout ce qui s’exécute. Vous pouvez l’arrêter ou revenir à un état antérieur.',
      'Tout fonctionne sur cet ordinateur. Il ne faut ni compte ni serveur.',
    ],
    where: 'Où les machines fonctionnent',
    whereText: 'Cet ordinateur a tout ce qu’il faut aux machines.',
    nowhereText:
      'Les machines ne peuvent pas encore fonctionner ici. Ce qui manque et comment y remédier est indiqué ci-dessous.',
    engineUsed: 'Prêt. Les nouvelles machines fonctionnent ici.',
    engineWorks: 'Prêt',
    looking: 'Vérification…',
    connected: (names) => `Connectées : ${names}.`,
    found: (names) => `Trouvées sur cet ordinateur : ${names}.`,
    atLogin: 'Démarrer ForeverVM quand j’ouvre ma session sur cet ordinateur',
    recent: 'Machines récentes',
    begin: 'Par quoi voulez-vous commencer ?',
  },

  first: {
    ask: (names) => `Lancez ${names} et demandez :`,
    askMore: (names) => `Demandez à ${names}, par exemple :`,
    prompt: 'Avec ForeverVM, dessine les cent premiers nombres premiers.',
    prompts: [
      'Avec ForeverVM, analyse le tableur que j’ai mis dans le dossier ForeverVM.',
      'Avec ForeverVM, fais un graphique de ce qui a le plus changé dans mes données.',
      'Avec ForeverVM, nettoie ma liste d’adresses et retire les doublons.',
    ],
    open: (name) => `Ouvrir dans ${name}`,
    copy: 'Copier',
    waiting: (names) => `En attente de ${names}…`,
    here: (names) => `${names} est là.`,
  },

  apps: {
    title: 'Applis d’IA',
    connectOne: 'Connecter une appli d’IA',
    ailing: 'Applis d’IA : l’une est déconnectée',
    text: 'Une appli connectée peut créer des machines et y exécuter du Python. ForeverVM ajoute une entrée à ses réglages et ne change rien d’autre. La déconnexion rétablit l’état d’avant.',
    none: 'ForeverVM n’a trouvé aucune appli d’IA prise en charge sur cet ordinateur. Si vous en avez une, démarrez-la une fois.',
    elsewhere: (names) => `Introuvables sur cet ordinateur : ${names}.`,
    states: {
      connected: 'Connectée',
      extension: 'Connectée par son extension',
      'not connected': 'Non connectée',
      outdated: 'Désactivée, ou connectée à un autre programme',
      unfinished: 'Son extension n’a pas été installée',
      wiped: 'Déconnectée : l’appli a écrasé ses réglages',
      official: 'Connectée au service hébergé, pas à cet ordinateur',
      taken: 'Un autre serveur dans ses réglages porte le même nom',
      broken: 'Ses réglages sont illisibles',
    },
    verbs: { connect: 'Connecter', disconnect: 'Déconnecter', repair: 'Réparer' },
    planTitle: {
      connect: (name) => `Connecter ${name} ?`,
      disconnect: (name) => `Déconnecter ${name} ?`,
      repair: (name) => `Réparer la connexion de ${name} ?`,
    },
    planText: {
      connect: 'ForeverVM ajoute une entrée aux réglages de l’application et en garde une copie.',
      disconnect:
        'ForeverVM retire son entrée des réglages de l’application et en garde une copie.',
      repair:
        'ForeverVM remet son entrée dans les réglages de l’application et en garde une copie.',
    },
    hidden: 'Les valeurs des autres entrées sont masquées.',
    difference: 'Ce qui change',
    replacesOfficial:
      'Son code s’exécutera sur cet ordinateur et non chez forevervm.com. La déconnexion rétablit cette connexion.',
    replacesOther: 'Ceci remplace le serveur existant du même nom. La déconnexion le rétablit.',
    done: 'Terminé.',
    atStart: 'Le changement prend effet au prochain démarrage de l’appli.',
    runs: (name, next) => `${name} est ouverte sans ce changement. ${next}`,
    restarts: (name) => `Redémarrer ${name} pour appliquer le changement`,
    restartsWhy:
      'Elle lit ses réglages seulement au démarrage, et peut les écraser en quittant. Le texte non envoyé est perdu.',
    entryInstead:
      'Pour la connecter autrement, appuyez sur Réparer : ForeverVM ajoute une entrée à ses réglages.',
    skill: 'Ajouter aussi une compétence (skill)',
    skillWhy:
      'C’est un fichier qui dit à l’application quand et comment utiliser les machines. La déconnexion le supprime.',
    restarted: (name) => `${name} a redémarré.`,
    offer: { link: 'La laisser me demander', extension: 'Installer comme extension' },
    extensionStays: 'Pour éviter cela, installez l’extension. L’appli ne l’écrase pas.',
    linkOpened: (name) => `${name} demande maintenant s’il faut ajouter ForeverVM.`,
    extensionOpened: (name, file) =>
      `${name} demande maintenant s’il faut installer l’extension. Si un autre programme l’ouvre, faites glisser le fichier ${file} sur la page des extensions dans les réglages de ${name}.`,
    neverSeen: 'Pas encore utilisée.',
    seen: (when, calls) =>
      `Dernière utilisation ${when}, ${number(calls)} ${calls <= 1 ? 'appel' : 'appels'} d’outils`,
    seenVersion: (version, when, calls) =>
      `Dernière utilisation ${when} (version ${version}), ${number(calls)} ${calls <= 1 ? 'appel' : 'appels'} d’outils`,
    test: 'Tester',
    works: (ms) => `La connexion fonctionne. Elle a répondu en ${Math.round(ms)} ms.`,
    backups: 'Réglages antérieurs',
    backupsTitle: (name) => `Réglages antérieurs de ${name}`,
    backupsText:
      'Copies d’avant chaque changement. En rétablir une enregistre d’abord les réglages actuels.',
    noBackups: 'Pas encore de copie. ForeverVM en garde une avant chaque changement.',
    restore: 'Rétablir',
    back: 'Retour',
  },

  hosted: {
    title: 'Service hébergé',
    text: 'Avec un compte ForeverVM, la liste montre aussi vos machines du service hébergé. Les machines de cet ordinateur n’ont pas besoin de compte.',
    sent: 'Le code que vous ou une appli d’IA exécutez dans une machine hébergée est envoyé au service, avec ses entrées. Rien n’est envoyé des machines de cet ordinateur.',
    account: 'Compte',
    accountName: 'Nom du compte',
    nameHint: 'De 3 à 16 lettres, chiffres, tirets bas et tirets.',
    server: 'Service',
    otherServer: 'Utiliser une autre adresse du service',
    token: 'Jeton',
    tokenHint:
      'Il est arrivé par e-mail. Il est conservé uniquement dans le trousseau de votre ordinateur.',
    email: 'Adresse e-mail',
    signIn: 'Se connecter',
    signOut: 'Se déconnecter',
    signUp: 'Créer un compte',
    signedUp: (email) =>
      `C’est fait. Le jeton est en route vers ${email}. Connectez-vous ici avec lui.`,
    noAccount: 'Je n’ai pas de compte',
    haveToken: 'J’ai un jeton',
    fromEnvironment:
      'ForeverVM a démarré avec la variable FOREVERVM_TOKEN, qui détermine le compte connecté.',
    official: (path, token) =>
      `La ligne de commande officielle garde un jeton (${token}) dans ${path}, où tout programme peut le lire.`,
    takeOver: 'Se connecter avec lui',
    removeText: (path) =>
      `Le jeton est maintenant dans le trousseau. Il est aussi encore dans ${path}, où tout programme peut le lire.`,
    remove: 'Supprimer ce fichier',
    others: 'Autres comptes enregistrés',
    use: 'Utiliser',
    machine: 'Hébergée',
    machineHint:
      'Elle fonctionne chez le service hébergé. Vous voyez seulement ce que cet ordinateur lui envoie.',
    less: 'Elle fonctionne chez le service hébergé, qui n’offre ni points de sauvegarde, ni copies, ni fichiers, ni variables. Les machines de cet ordinateur en ont.',
  },

  machine: {
    empty: 'Rien ne s’est encore exécuté ici',
    emptyText:
      'Écrivez du Python ci-dessous et appuyez sur Maj+Entrée, ou laissez votre appli d’IA utiliser cette machine.',
    start: 'Le début',
    forkedFrom: (name) => `Issue de ${name}`,
    loadEarlier: 'Afficher les étapes antérieures',
    latest: 'Aller à la plus récente',
    stop: 'Arrêter',
    stopHint: 'Arrêter le code en cours',
    resume: 'Reprendre',
    resumeHint: 'Continuer le code suspendu',
    save: 'Enregistrer un point de sauvegarde',
    saveShort: 'Point de sauvegarde',
    more: 'Plus d’actions pour cette machine',
    details: 'Nom et étiquettes…',
    pause: 'Suspendre',
    sleep: 'Mettre en veille',
    wake: 'Réveiller',
    copy: 'Copier cette machine…',
    archive: 'Archiver',
    unarchive: 'Désarchiver',
    report: 'Exporter un rapport des résultats…',
    exports: {
      ipynb: 'Exporter en notebook Jupyter',
      html: 'Tout exporter comme page web',
      md: 'Exporter en Markdown',
      py: 'Exporter le code',
    },
    pack: 'Enregistrer dans un fichier…',
    memory: 'Limite de mémoire…',
    openResults: 'Ouvrir le dossier des résultats',
    share: 'Partager un dossier…',
    sentenceCopy: 'Copier une phrase pour continuer',
    sentence: (name, title) =>
      `Continue dans la machine ForeverVM ${name}${title ? ` (« ${title} »)` : ''} : tout ce qui précède est encore là. Regarde d’abord ses variables.`,
    sentenceCopied: 'Copié. Collez-le dans votre appli d’IA.',
    remove: 'Supprimer',
    removed: (name) => `${name} est dans la corbeille.`,
    undo: 'Annuler',
    notFound: 'Cette machine n’existe plus.',
    loadFailed: 'Le travail effectué n’a pas pu être chargé.',
    retry: 'Réessayer',
    history: 'Travail effectué',
  },

  shared: {
    title: 'Partager un dossier',
    text: 'Le code de cette machine voit le vrai dossier dans /mnt/shared. Il peut envoyer ce qu’il y lit à toute adresse que la machine peut joindre (voir Réseau). Les points de sauvegarde ne contiennent jamais le dossier, et les copies de la machine ne le voient pas.',
    folder: 'Dossier',
    folderHint: 'Son chemin complet sur l’ordinateur où ForeverVM fonctionne',
    choose: 'Choisir…',
    chooseTitle: 'Quel dossier la machine peut-elle voir ?',
    writable: 'Le code peut aussi le modifier',
    writableText:
      'Le code peut alors modifier, ajouter et supprimer des fichiers dans le dossier. ForeverVM ne peut pas les récupérer. Il vous avertit des nouveaux fichiers sur lesquels des programmes de votre ordinateur, comme git ou des éditeurs, agissent automatiquement.',
    awake:
      'ForeverVM enregistre la machine et la réveille. Le code devra peut-être rouvrir ses fichiers dans un dossier partagé.',
    confirm: 'Partager',
    sees: 'Cette machine voit votre dossier',
    changes: 'Cette machine voit votre dossier et peut le modifier',
    change: 'Modifier…',
    stop: 'Arrêter le partage',
  },

  files: {
    title: 'Fichiers',
    asleep: 'Cette machine est en veille.',
    wake: 'La réveiller et afficher ses fichiers',
    home: 'Fichiers',
    place: 'Dossier actuel',
    back: 'Retour à la liste',
    refresh: 'Actualiser',
    newFolder: 'Nouveau dossier',
    folderName: 'Nom du dossier',
    make: 'Créer',
    upload: 'Mettre des fichiers dans ce dossier',
    uploadShort: 'Ajouter des fichiers',
    dropHere: (machine) => `Donner à « ${machine} »`,
    given: (file, machine, path) => `« ${machine} » a maintenant ${file}, comme ${path}`,
    drop: 'Déposez des fichiers ici',
    noFolders:
      'Il n’est pas possible de déposer des dossiers ici. « forevervm cp » copie des dossiers entiers.',
    sending: (name) => `Envoi de ${name}`,
    stopSending: (name) => `Arrêter l’envoi de ${name}`,
    stopSaving: (name) => `Arrêter l’enregistrement de ${name}`,
    save: 'Enregistrer sur cet ordinateur',
    download: (name) => `Enregistrer ${name} sur cet ordinateur`,
    delete: 'Supprimer',
    remove: (name) => `Supprimer ${name}`,
    removeTitle: (name) => `Supprimer ${name} ?`,
    removeText: 'La machine perd ce fichier. Les points de sauvegarde antérieurs l’ont encore.',
    removeFolderText:
      'La machine perd ce dossier et tout ce qu’il contient. Les points de sauvegarde antérieurs l’ont encore.',
    loading: 'Chargement…',
    retry: 'Réessayer',
    emptyHome: 'Rien ici pour l’instant. Déposez des fichiers, ou laissez le code en écrire.',
    empty: 'Ce dossier est vide.',
    more: 'Il y a plus de fichiers que ceux affichés ici.',
    noPreview:
      'Il n’y a pas d’aperçu pour ce type de fichier. Vous pouvez l’enregistrer sur cet ordinateur.',
    picture: (name) => `L’image ${name}`,
    cut: (size) => `Ceci est le début. Le fichier entier fait ${size}.`,
    disk: 'Disque utilisé par la machine',
    diskHint: 'Ce que cette machine a écrit, et sa limite',
    used: (used, size) => `${used} sur ${size} utilisés`,
    inbox: (folder) =>
      `Les fichiers que vous mettez dans ${folder} apparaissent dans l’inbox de chaque machine. Les fichiers que le code met dans l’outbox apparaissent dans Results, dans ce dossier.`,
    folder: 'Dossier',
    kinds: { file: 'Fichier', folder: 'Dossier', link: 'Lien', other: 'Ni fichier ni dossier' },
  },

  network: {
    title: 'Réseau',
    reaches: 'Ce que cette machine peut joindre',
    standard: 'Ce que les machines peuvent joindre',
    standardText: 'Vaut pour chaque machine sans règle propre.',
    modes: {
      default: 'Par défaut',
      public: 'L’internet public',
      ask: 'Ce que vous autorisez à sa demande',
      list: 'Seulement les sites web de cette liste',
      off: 'Rien',
    },
    asStandard: (mode) => `Par défaut : ${mode.charAt(0).toLowerCase()}${mode.slice(1)}`,
    never:
      'Une machine ne joint votre ordinateur et les appareils autour de lui que si vous les inscrivez par nom ou adresse.',
    upstream: (proxy) =>
      `Cet ordinateur accède à internet par le proxy ${proxy}, qui résout lui-même les noms. Les règles sur les noms s’appliquent. Les adresses derrière eux ne sont pas vérifiées.`,
    hosts: 'Sites web de la liste',
    approved: 'Autorisés à la demande',
    add: 'Ajouter un site web',
    addHint: 'example.com, *.example.com ou 192.168.1.5:5432',
    addShort: 'Ajouter',
    remove: (host) => `Retirer ${host}`,
    contacts: 'Connexions',
    none: 'Pas encore de connexion ni de tentative.',
    earlier: 'Afficher les précédentes',
    states: {
      asking: 'Attend votre réponse',
      open: 'Ouverte',
      closed: 'Joint',
      denied: 'Non autorisé',
      failed: 'Non joint',
    },
    moved: (sent, received) => `${sent} envoyés, ${received} reçus`,
    question: (machine) => `${machine} veut joindre`,
    step: (seq, app) =>
      app ? `${app} y exécute l’étape ${seq + 1}.` : `L’étape ${seq + 1} s’y exécute.`,
    waits: (left) => `Le code attend. Sans réponse d’ici ${left}, c’est non.`,
    more: (n) => (n === 1 ? 'Une autre question attend.' : `${n} autres questions attendent.`),
    answers: {
      deny: 'Non',
      once: 'Autoriser pour cette étape',
      machine: 'Toujours, pour cette machine',
      always: 'Toujours, pour toutes les machines',
    },
  },

  permission: {
    asks: (app) => `${app} vous demande`,
    rewind: (machine, steps) =>
      `Ramener ${machine} à un état antérieur ? Cela annule ${steps === 1 ? 'une étape' : `${number(steps)} étapes`}. Vous pourrez revenir à l’état actuel plus tard.`,
    memory: (gb) =>
      `Créer une machine avec jusqu’à ${number(gb)} Go de mémoire ? La limite habituelle est de 2 Go.`,
    allow: 'Autoriser',
    deny: 'Non',
  },

  step: {
    number: (seq) => `Étape ${seq + 1}`,
    code: 'Code',
    /** What code does, in the middle of a sentence. */
    does: {
      installs: (names) => `installe ${names}`,
      fetches: (names) => `récupère des données de ${names}`,
      reads: (names) => `lit ${names}`,
      fits: () => 'ajuste un modèle',
      draws: () => 'dessine un graphique',
      saves: (names) => `enregistre ${names}`,
      defines: (names) => `définit ${names}`,
      computes: (names) => `calcule ${names}`,
      shows: (names) => `affiche ${names}`,
      loads: (names) => `charge ${names}`,
    },
    linesOfCode: (n) => `${number(n)} ${n === 1 ? 'ligne' : 'lignes'} de Python`,
    shown: { results: 'Résultats', everything: 'Tout' },
    shownHint: 'Ce que cette page montre des étapes des autres',
    done: 'Terminée',
    queued: 'Attend son tour',
    running: 'En cours',
    cancelled: 'Annulée avant l’exécution',
    failed: 'Échouée',
    interrupted: 'Arrêtée',
    timeout: 'Trop longue, arrêtée',
    undone: 'Défaite',
    undoneHint:
      'La machine est revenue à un état antérieur. Ses variables et fichiers sont comme avant cette étape.',
    cancel: 'Annuler',
    copyCode: 'Copier le code',
    copyOutput: 'Copier le résultat',
    copied: 'Copié',
    allowAgain: (hosts) => `Autoriser ${hosts} et relancer`,
    fix: 'Copier une demande de correction',
    fixPrompt: (machine, seq, error) =>
      `Dans la machine ForeverVM ${machine}, l’étape ${seq + 1} a échoué : ${error}\nTrouve pourquoi et corrige.`,
    goBack: 'Revenir avant cette étape',
    goBackTo: (seq) => `Revenir après l’étape ${seq + 1}`,
    newFrom: 'Nouvelle machine à partir d’ici',
    runAgain: 'Exécuter à nouveau',
    traceback: 'Ce que dit Python',
    hiddenLines: (n) => `${number(n)} ${n === 1 ? 'ligne' : 'lignes'} de plus`,
    showAll: 'Tout afficher',
    showCode: (n) => `Afficher les ${number(n)} lignes`,
    showLess: 'Afficher moins',
    gap: 'La sortie entre les deux n’est pas affichée ici.',
    omitted: (n) => `${number(n)} parties entre les deux ne sont pas affichées`,
    outputLost: (size) => `${size} de sortie : c’était trop pour être conservé.`,
    background: 'Affiché plus tard, sans code en cours',
    loadFailed: 'La sortie n’a pas pu être chargée.',
    retry: 'Réessayer',
    cutLine: (n) => `… ${number(n)} caractères de plus`,
    interactive:
      'Ce type de figure interactive n’est pas affiché ici. Les figures de matplotlib et de Plotly le sont.',
    figureData: 'Les données de la figure',
    heldUp: 'Cette figure n’a pas fini de se dessiner la dernière fois. Elle peut bloquer la page.',
    drawAnyway: 'La dessiner quand même',
    notShown: 'Ce type de sortie ne peut pas être affiché ici.',
    tooMuch:
      'Ce tableau ou cette page est trop grand : l’afficher bloquerait la fenêtre. Demandez une partie plus petite, comme ses premières lignes.',
  },

  output: {
    title: 'Toute la sortie',
    loading: 'Chargement…',
    close: 'Fermer',
    copy: 'Copier',
    save: 'Enregistrer dans un fichier',
    savedTo: (path) => `Enregistré dans ${path}`,
    partly:
      'C’est trop long pour être affiché d’un coup. Vous voyez le début et la fin. Le fichier contient tout.',
    between: (n) =>
      `… ${number(n)} ${n === 1 ? 'ligne n’est pas affichée' : 'lignes ne sont pas affichées'} ici …`,
    lines: (n) => `${number(n)} ${n === 1 ? 'ligne' : 'lignes'}`,
    saveTable: 'Enregistrer ce tableau en CSV',
    saveShown: 'Enregistrer la partie affichée en CSV',
    shortened:
      'Ce tableau est abrégé. S’il est dans une variable, ouvrez-la pour le voir en entier.',
    find: 'Rechercher',
    found: (n, of) => `${number(n)} sur ${number(of)}`,
    picture: 'Image créée par cette étape',
    rich: 'Tableau ou sortie mise en forme de cette étape',
    pictureFailed: 'L’image n’a pas pu être chargée.',
    pictureTooMuch:
      'Ce dessin a trop d’éléments : l’afficher bloquerait la fenêtre. Demandez-le en PNG.',
    enlarge: 'Agrandir l’image',
    figureWaits: 'Cette figure se dessine quand elle devient visible.',
    saveFigure: (format) => `Enregistrer cette figure en ${format.toUpperCase()}`,
    noPicture:
      'Cette figure n’a pas encore d’image à enregistrer, ou ne peut pas être enregistrée en image.',
    hugePicture: 'L’image de cette figure est trop grande pour être enregistrée.',
    slowPicture: 'La figure n’a pas donné d’image en une minute. Elle a peut-être trop de données.',
  },

  chat: {
    waiting: 'En attente du début du code',
    larger: 'Agrandir',
    open: 'Ouvrir ForeverVM',
  },

  drop: {
    title: 'Un fichier pour votre application d’IA',
    ask: (machine, path) =>
      path.endsWith('/')
        ? `Votre application d’IA demande un fichier. Il ira dans le dossier ${path} de la machine ${machine}`
        : `Votre application d’IA demande un fichier. Il ira dans la machine ${machine}, sous ${path}`,
    choose: 'Choisir un fichier',
    hint: 'Ou déposez-le ici. Le lien accepte un fichier, pendant 10 minutes.',
    one: 'Ce lien accepte un fichier. N’en déposez qu’un.',
    zone: 'Place pour le fichier',
    done: (file, size) => `Le fichier est arrivé : ${file}, ${size}.`,
    next: 'Revenez à votre application d’IA et dites-lui de continuer.',
  },

  editor: {
    label: 'Code Python pour cette machine',
    placeholder: 'Facultatif : exécutez vous-même du Python',
    sentence: 'Ce champ exécute du Python. Pour demander avec des mots, utilisez votre app d’IA.',
    copyRequest: 'Copier comme demande',
    request: (machine, text) => `Dans la machine ForeverVM ${machine} : ${text}`,
    runAnyway: 'Exécuter quand même',
    run: 'Exécuter',
    queue: 'Exécuter ensuite',
    hint: 'Maj+Entrée',
    busy: 'La machine n’a pas répondu à temps. Elle est occupée, ou la réponse est trop longue. Réessayez.',
    unknown: 'Il n’y a pas encore d’information sur ce nom.',
  },

  checkpoint: {
    title: 'Enregistrer un point de sauvegarde',
    text: 'Un point de sauvegarde garde tout en l’état : variables et fichiers. Vous pouvez y revenir à tout moment.',
    label: 'Nom (facultatif)',
    placeholder: 'Avant de nettoyer les données',
    save: 'Enregistrer',
    saved: 'Point de sauvegarde enregistré.',
    kept: 'Le point de sauvegarde est conservé.',
    unnamed: 'Point de sauvegarde',
    rewind: 'Revenir ici',
    fork: 'Nouvelle machine d’ici',
    remove: 'Supprimer ce point de sauvegarde',
  },

  side: {
    title: 'À propos de cette machine',
    show: 'Afficher points de sauvegarde, graphiques, fichiers et plus',
    hide: 'Masquer le volet',
    resize: 'Largeur du volet',
    plots: 'Graphiques',
    variables: 'Variables',
    checkpoints: 'Points de sauvegarde',
    about: 'À propos',
  },

  plots: {
    none: 'Les graphiques et images créés par le code apparaissent ici, chacun avec un lien vers son étape.',
    failed: 'Les graphiques n’ont pas pu être chargés.',
    previous: 'Graphique précédent',
    next: 'Graphique suivant',
    count: (n, of, more) => `${n} sur ${of}${more ? '+' : ''}`,
    earlier: 'Précédents',
    strip: 'Tous les graphiques',
    thumbnail: (seq) => `Graphique de l’étape ${seq + 1}`,
    copy: 'Copier l’image',
    copied: 'L’image a été copiée.',
    savePng: 'Enregistrer en PNG',
    saveSvg: 'Enregistrer en SVG, net à toutes les tailles',
  },

  variables: {
    search: 'Rechercher des variables',
    none: 'Pas encore de variables. Elles apparaissent ici dès que le code en crée.',
    changed: 'Nouvelle ou modifiée par la dernière étape',
    old: 'Python est occupé. Vous voyez les valeurs d’avant.',
    asleep: 'La machine est en veille. Vous voyez ses dernières valeurs.',
    asleepAndUnknown:
      'La machine est en veille. Ses variables sont en sécurité. Réveillez-la pour les voir.',
    table: (rows, columns) =>
      columns === undefined
        ? `colonne de ${number(rows)} ${rows === 1 ? 'valeur' : 'valeurs'}`
        : `tableau, ${number(rows)} ${rows === 1 ? 'ligne' : 'lignes'} × ${number(columns)} ${columns === 1 ? 'colonne' : 'colonnes'}`,
    tables: 'Tableaux',
    values: 'Valeurs',
    code: 'Fonctions et imports',
    kinds: { function: 'fonction', class: 'classe' },
  },

  table: {
    text: (type, rows, columns) =>
      `${type}, ${number(rows)} × ${number(columns)}. Seules les lignes visibles sont chargées. La machine trie et filtre.`,
    open: 'Ouvrir comme tableau',
    formats: { csv: 'CSV', xlsx: 'Excel' },
    index: 'Index',
    sort: (column) => `Trier par ${column}`,
    filter: (column) => `Filtrer ${column}`,
    filterNumbers: '> 5',
    filterText: 'contient…',
    spread: (range) => `Répartition des valeurs, de ${range}`,
    only: (value) => `Ne montrer que les lignes avec « ${value} »`,
    distinct: (n) => `${number(n)} différentes`,
    missing: (n, percent) => `${number(n)} sans valeur (${percent} %)`,
    sampled: 'D’une partie des lignes.',
    rows: (from, n, of, all) =>
      `${n === 0 ? 0 : number(from + 1)}–${number(from + n)} sur ${number(of)}${of === all ? '' : ` (${number(all)} au total)`}`,
    columns: (from, n, of) => `Colonnes ${number(from + 1)}–${number(from + n)} sur ${number(of)}`,
    columnsBefore: 'Colonnes précédentes',
    columnsAfter: 'Colonnes suivantes',
    empty: '–',
    saveHint: 'Enregistre toutes les lignes trouvées, dans cet ordre',
    busy: 'La machine n’a pas répondu à temps. Elle est occupée, ou le tableau est trop grand pour être trié ou filtré ici. Réessayez, ou faites-le dans le code.',
  },

  checkpoints: {
    text: 'Cette machine peut revenir à ces états. ForeverVM en enregistre un après chaque travail et en retire beaucoup plus tard. Ceux que vous gardez restent. Quand vous revenez en arrière, le travail que vous quittez reste comme branche.',
    none: 'Pas encore de points de sauvegarde.',
    after: (seq) => (seq < 0 ? 'Le début' : `Après l’étape ${seq + 1}`),
    now: '● Maintenant',
    here: (seq) =>
      `Vous êtes revenu ici, après l’étape ${seq + 1}. Les étapes annulées ci-dessous restent dans une branche.`,
    keep: 'Garder…',
    rename: 'Renommer…',
    show: 'Afficher son étape',
    isKept: 'Conservé jusqu’à ce que vous le supprimiez',
    passes: 'Automatique. Il peut être retiré plus tard, sauf si vous le gardez',
  },

  keep: {
    title: 'Garder ce point de sauvegarde',
    text: 'Il reste jusqu’à ce que vous le supprimiez.',
    confirm: 'Garder',
  },

  about: {
    memory: 'Mémoire',
    memoryLine: 'Mémoire au fil du temps',
    cpu: 'Processeur',
    cpuLine: 'Usage du processeur au fil du temps',
    since: 'Depuis l’ouverture de cette page, 15 minutes au plus.',
    of: (used, limit) => `${used} sur ${limit} utilisés`,
    percent: (cpu) => `${Math.round(cpu * 100)} % d’un processeur`,
    none: 'Aucune : elle est en veille',
    name: 'Nom',
    state: 'État',
    engine: 'Fonctionne',
    image: 'Contient',
    images: {
      base: 'Python avec les bibliothèques habituelles',
      ml: 'Python avec les bibliothèques habituelles, torch et transformers',
    },
    steps: 'Étapes',
    made: 'Créée',
    active: 'Dernière utilisation',
    user: 'Utilisée par',
    expires: 'Expire',
    parent: 'Issue de',
    limit: 'Limite de mémoire',
    tags: 'Étiquettes',
    connect: 'Depuis vos propres programmes',
    connectText: 'Utilisez l’un de ceux-ci pour accéder à cette machine.',
    copy: 'Copier',
    copied: 'Copié.',
  },

  rewind: {
    lastStep: 'Revenir avant la dernière étape',
    title: (name) => `Revenir à « ${name} » ?`,
    going: 'Retour en cours…',
    looking: 'Lecture de cet état…',
    variables: 'Données à ce moment',
    files: 'Fichiers à ce moment',
    empty: 'Il n’y a encore ni données ni fichiers.',
    text: (later) =>
      later === 0
        ? 'Variables et fichiers redeviennent comme ils étaient alors.'
        : `Variables et fichiers redeviennent comme ils étaient alors. Le travail ${later === 1 ? 'de l’étape suivante' : `des ${later} étapes suivantes`} est mis de côté. Vous pouvez toujours le lire ici.`,
    kept: 'Ce que vous quittez reste comme branche, dans l’onglet Points de sauvegarde. Vous pouvez y revenir.',
    toBranch: (name) => `Variables et fichiers redeviennent comme ils étaient sur « ${name} ».`,
    keepAs: 'Nom de la branche que vous quittez (facultatif)',
    keepAsHint:
      'Avec un nom, elle reste jusqu’à ce que vous la supprimiez. Sans nom, les 20 dernières branches restent.',
    confirm: 'Revenir',
    done: 'La machine est de nouveau là où vous vouliez.',
    undo: 'Annuler',
  },

  compare: {
    title: 'Différences',
    now: 'Comparer avec maintenant',
    other: 'Comparer avec un autre…',
    this: 'Comparer avec celui-ci',
    choose: (name) => `Choisissez avec quoi comparer « ${name} ».`,
    present: 'Maintenant',
    text: (from, to) => `De « ${from} » à « ${to} ».`,
    looking: 'Comparaison des deux états. Ils sont chargés en mémoire un instant, sans réseau…',
    nothing: 'Aucune différence.',
    variables: 'Variables',
    files: 'Fichiers',
    onlyFrom: (name) => `Étapes que seul « ${name} » contient`,
    onlyTo: (name) => `Étapes que seul « ${name} » contient`,
    kinds: { added: 'Ajouté', removed: 'Supprimé', changed: 'Modifié' },
    written: 'Écrit',
    writtenText: 'Il a été écrit et fait la même taille. Il est trop grand pour être comparé.',
    before: 'Avant',
    after: 'Après',
    step: (seq) => `Étape ${seq + 1}`,
    unsure: (names, n) =>
      `${n === 1 ? 'Semble identique et n’a pas pu être entièrement comparé' : 'Semblent identiques et n’ont pas pu être entièrement comparés'} : ${names}`,
    partial:
      'Toutes les variables, tous les fichiers ou dossiers n’ont pas été comparés : il y en a trop.',
    more: (n) => `et ${number(n)} de plus`,
  },

  branch: {
    mark: 'Branche',
    on: (name) => `Vous êtes sur la branche « ${name} ».`,
    own: (steps) =>
      steps === 0
        ? 'aucune étape propre'
        : `${steps} ${steps === 1 ? 'étape propre' : 'étapes propres'}`,
    left: (when) => `quittée ${when}`,
    back: 'Y revenir',
    rename: 'Renommer la branche…',
    remove: 'Supprimer cette branche',
    renameTitle: 'Nom de la branche',
    renameText: 'Une branche nommée reste jusqu’à ce que vous la supprimiez.',
    label: 'Nom',
    save: 'Renommer',
    explain: 'Ce que vous avez quitté en revenant en arrière. Vous pouvez y retourner.',
  },

  fork: {
    title: 'Nouvelle machine depuis cet état',
    text: 'Une seconde machine commence avec les variables et fichiers de cet état. La première reste comme elle est.',
    name: 'Titre (facultatif)',
    confirm: 'Créer',
  },

  details: {
    title: 'Nom et étiquettes',
    titleLabel: 'Titre',
    titleHint: 'À quoi elle sert, dans vos propres mots',
    nameLabel: 'Nom',
    nameHint: 'Les programmes et applis d’IA l’utilisent. Les anciens noms restent valables.',
    tagsLabel: 'Étiquettes',
    tagsHint: 'Une par ligne, comme project=sales',
    save: 'Enregistrer',
    badTag: (line) => `« ${line} » n’est pas une étiquette : écrivez un mot ou key=value.`,
  },

  purge: {
    title: (name) => `Supprimer ${name} définitivement ?`,
    text: 'Son historique, ses variables et ses fichiers sont retirés de cet ordinateur. C’est irréversible.',
    confirm: 'Supprimer définitivement',
  },

  status: {
    engine: (name) =>
      ({
        native: 'Sur cet ordinateur',
        docker: 'Sur cet ordinateur, dans Docker',
        hosted: 'Chez le service hébergé',
      })[name] ?? name,
    noEngine: 'Les machines ne peuvent pas encore fonctionner',
    lookAgain: 'Démarrer ou vérifier à nouveau',
    hostedInstead: 'Utiliser le service hébergé',
    running: (n) => (n === 0 ? 'Rien en cours' : `${n} en cours`),
    paused: (n: number) => `${n} suspendue(s)`,
    awake: (n) => `${n} ${n === 1 ? 'active' : 'actives'}`,
    memory: (size) => `${size} de mémoire`,
    offline: 'Reconnexion…',
    details: 'Ce que cela signifie',
    notes: 'Certaines limites ne s’appliquent pas ici',
  },

  locked: {
    title: 'Cette page a besoin d’une clé',
    text: 'Elle montre ce qui s’exécute sur votre ordinateur, et ne s’ouvre donc que depuis celui-ci. Utilisez la fenêtre ForeverVM, ou exécutez ceci dans un terminal :',
    command: 'forevervm open',
    again:
      'Un lien ouvre la page une seule fois. Si le vôtre a déjà servi, demandez-en un nouveau.',
  },

  failed: {
    title: 'ForeverVM est injoignable',
    retry: 'Réessayer',
  },

  stranger:
    'Un autre programme répond à la place de ForeverVM. Cette page ne lui envoie rien. Exécutez « forevervm open » pour ouvrir la bonne page.',

  connecting: 'Démarrage…',
  moreFor: (name) => `Plus pour ${name}`,
  cancel: 'Annuler',
  close: 'Fermer',
  messages: 'Messages',
  dismiss: 'Ignorer',

  errors: {
    unreachable: 'ForeverVM ne répond pas. Il redémarre peut-être ; réessayez dans un instant.',
    unexpected: (status) => `ForeverVM a répondu par une erreur inattendue (${status}).`,
    noAddress: 'Cette sortie n’a pas d’adresse.',
    unreadable: 'Le fichier est illisible.',
  },

  codes: {
    Busy: 'La machine est occupée. Réessayez.',
    CheckpointUnusable:
      'Cet état enregistré est inutilisable. Essayez un point de sauvegarde antérieur.',
    DiskFull: 'Le disque est plein. Libérez de la place et réessayez.',
    EngineUnavailable: 'Les machines ne peuvent pas fonctionner pour le moment.',
    Internal:
      'Un problème est survenu dans ForeverVM. Vos machines ne sont pas touchées. Réessayez.',
    MachineNotFound: 'Cette machine n’existe pas.',
    NameTaken: 'Une autre machine porte ce nom. Choisissez-en un autre.',
    ShuttingDown:
      'ForeverVM est en train de s’arrêter. Vos machines sont enregistrées. Réessayez quand il sera de nouveau ouvert.',
    TooLarge: 'C’est trop grand pour une seule demande.',
    UnknownMaker:
      'Vous n’avez jamais ouvert de fichier de cet auteur. Vérifiez qui a envoyé le fichier.',
  },
};
