import type { Words } from '.';
import { number } from './locale';

export const de: Words = {
  product: 'ForeverVM',
  you: 'Sie',
  aProgram: 'Ein Programm',
  commandLine: 'Befehlszeile',
  programIn: (language) => `${language}-Programm`,

  ago: {
    now: 'gerade eben',
    minutes: (n) => `vor ${n} Min.`,
    hours: (n) => `vor ${n} Std.`,
    yesterday: 'gestern',
    days: (n) => `vor ${n} Tagen`,
  },

  states: {
    paused: 'Angehalten',
    swapped: 'Schläft',
    waking: 'Wacht auf',
    idle: 'Bereit',
    running: 'Läuft',
    swapping: 'Schläft ein',
    deleted: 'Im Papierkorb',
  },

  stateHints: {
    paused: 'Der Code ist mittendrin gespeichert. „Fortsetzen“ führt ihn weiter.',
    swapped:
      'Alles ist gespeichert. Sie belegt keinen Arbeitsspeicher und wacht beim nächsten Code automatisch auf.',
    waking: 'Ihr gespeicherter Stand wird geladen.',
    idle: 'Sie ist im Arbeitsspeicher und wartet auf Code.',
    running: 'Sie führt gerade Code aus.',
    swapping: 'Ihr Stand wird gespeichert, dann wird ihr Arbeitsspeicher frei.',
    deleted: 'Sie können sie aus dem Papierkorb zurückholen.',
  },

  list: {
    title: 'Maschinen',
    home: 'Startseite',
    search: 'Maschinen suchen',
    create: 'Neue Maschine',
    none: 'Noch keine Maschine',
    noneHint: 'Maschinen erscheinen hier, sobald Sie oder eine KI-App eine anlegt.',
    failed: 'Der letzte Schritt ist gescheitert',
    unseen: (steps) => `${steps} ${steps === 1 ? 'neuer Schritt' : 'neue Schritte'}`,
    made: (app) => `${app} hat eine Maschine angelegt.`,
    watch: 'Zusehen',
    working: (who) => `${who} arbeitet`,
    noMatch: 'Keine Treffer',
    clearSearch: 'Suche leeren',
    bin: 'Papierkorb',
    backToMachines: 'Zurück zu den Maschinen',
    binEmpty: 'Der Papierkorb ist leer',
    binHint:
      'Gelöschte Maschinen bleiben sieben Tage hier, wenn Sie es in den Einstellungen nicht ändern.',
    restore: 'Zurückholen',
    purge: 'Endgültig löschen',
    show: 'Maschinen einblenden',
    hide: 'Maschinen ausblenden',
    which: 'Welche Maschinen',
    shown: { all: 'Alle', awake: 'Wach', asleep: 'Schläft', archived: 'Archiv' },
    noneOfThese: 'Zu diesem Filter passt keine Maschine.',
    group: 'Nach Benutzer gruppieren',
    unused: 'Von hier noch nicht benutzt',
    history: 'Im Verlauf',
    settings: 'Einstellungen',
    createWith: 'Neue Maschine mit Optionen…',
  },

  report: {
    title: 'Bericht der Ergebnisse',
    about:
      'Das sehen andere. Schritte, die fehlschlugen, rückgängig gemacht wurden oder nichts zeigen, fehlen.',
    long: 'Dieser Bericht ist zu lang, um ihn hier zu zeigen. Speichern Sie ihn und öffnen Sie ihn im Browser.',
    pdf: 'Als PDF speichern',
    page: 'Als Webseite speichern',
    printing: 'Das PDF wird erstellt…',
  },

  pack: {
    title: 'Ganze Maschine als Datei speichern',
    text: 'Für einen anderen Computer oder eine andere Person. Die Datei enthält alles: Variablen, Dateien und die bisherige Arbeit. Öffnen Sie sie mit derselben Version von ForeverVM.',
    warning:
      'Die Datei enthält alles in dieser Maschine, auch Schlüssel und Passwörter. Jeder, der die Datei hat, kann sie lesen. Geben Sie sie nur Personen, die sie haben dürfen.',
    keys: (steps) =>
      `Diese Schritte enthalten etwas, das wie ein Schlüssel aussieht, und die Datei dann auch: ${steps}.`,
    confirm: 'Datei speichern',
    coming: (size) => `Bisher ${size}`,
  },

  unpack: {
    menu: 'Maschine aus einer Datei öffnen…',
    drop: 'Datei einer Maschine hier ablegen, um sie zu öffnen',
    one: 'Bitte nur eine Datei auf einmal.',
    title: 'Maschine aus einer Datei öffnen',
    looking: 'Datei wird gelesen…',
    machine: 'Maschine',
    saved: 'Gespeichert',
    savedBy: (when, program) => `${when}, von ForeverVM ${program}`,
    work: 'Arbeit',
    steps: (n, size) =>
      `${n === 1 ? '1 Schritt' : `${number(n)} Schritte`}, ${size} Arbeitsspeicher und Dateien`,
    tags: 'Tags',
    maker: 'Erstellt von',
    makers: {
      own: 'Diesem Computer',
      accepted: 'Jemandem, dessen Dateien Sie schon geöffnet haben',
      unknown: 'Jemandem, dessen Dateien Sie noch nie geöffnet haben',
    },
    fingerprint: 'Schlüssel',
    warning:
      'Der Ersteller dieser Datei kann in ihrer Maschine beliebigen Code ausführen. Öffnen Sie sie nur, wenn Sie wissen, wer sie geschickt hat. Um sicher zu sein, fragen Sie nach dem Schlüssel, den der Ersteller beim Öffnen sieht.',
    who: 'Wer hat sie erstellt?',
    whoHint: 'Die nächste Datei dieser Person öffnet sich ohne diese Frage.',
    network: 'Die Maschine hat kein Netzwerk, bis Sie es erlauben.',
    confirm: 'Öffnen',
    trust: 'Vertrauen und öffnen',
    sending: 'Datei wird geöffnet',
  },

  help: {
    title: 'Hilfe',
    contents: 'Inhalt',
    search: 'Hilfe durchsuchen',
    text: 'Der Text',
    more: 'Mehr dazu',
    onlyEnglish: 'Diese Texte gibt es nur auf Englisch.',
  },

  create: {
    title: 'Neue Maschine',
    memory: 'Höchster Arbeitsspeicher',
    engine: 'Wo sie läuft',
    confirm: 'Anlegen',
  },

  memory: {
    title: 'Höchster Arbeitsspeicher',
    text: 'So viel darf Python in dieser Maschine benutzen. Die Änderung gilt sofort.',
  },

  palette: {
    title: 'Maschine oder Befehl finden',
    placeholder: 'Tippen, um eine Maschine oder einen Befehl zu finden',
    groups: {
      machine: 'Diese Maschine',
      show: 'Zeigen',
      machines: 'Maschinen',
      everywhere: 'ForeverVM',
    },
    search: (text) => `In der Arbeit nach „${text}“ suchen`,
  },

  settings: {
    keys: 'Tasten mit einem Buchstaben',
    keysHint: 'N, C, J, K und andere stehen für Befehle, wo Sie nicht schreiben. Strg+K zeigt sie.',
    title: 'Einstellungen',
    appearance: 'Darstellung',
    theme: 'Farben',
    themes: { system: 'System', light: 'Hell', dark: 'Dunkel' },
    contrast: 'Kontrast',
    contrasts: { system: 'System', more: 'Hoch' },
    language: 'Sprache',
    systemLanguage: 'System',
    languageNext: 'Die neue Sprache erscheint beim nächsten Start.',
    reload: 'Jetzt neu laden',
    storage: 'Speicher',
    room: (used, free) => `ForeverVM belegt ${used}. Auf dem Datenträger sind ${free} frei.`,
    folder: 'Alles liegt in',
    fields: {
      idle_swap: 'Unbenutzte Maschinen schlafen nach',
      keep_all_checkpoints: 'Jeden Sicherungspunkt behalten für',
      keep_hourly_checkpoints: 'Dann einen pro Stunde, bis zu',
      keep_daily_checkpoints: 'Dann einen pro Tag, bis zu',
      bin_retention: 'Papierkorb leeren nach',
    },
    latestOnly: 'Nur der neueste jeder Maschine',
    budget: 'Platz für ältere Sicherungspunkte',
    budgetUsual: '10 GB, oder ein Zehntel des freien Platzes, wenn das weniger ist',
    saved: 'Gespeichert.',
    engines: 'Wo Maschinen laufen',
    enginesText: 'Maschinen laufen auf eine dieser Arten.',
    usual: 'Standard',
    works: 'Bereit',
    vmMemory: 'Arbeitsspeicher der virtuellen Maschine, höchstens',
    vmMemoryUsual: 'die Hälfte dieses Computers',
    vmDisk: 'Festplatte der virtuellen Maschine, höchstens',
    vmHint: 'Beides gilt ab ihrem nächsten Start. Ihre Festplatte wird nie kleiner.',
    diagnostics: 'Diagnose',
    diagnosticsText:
      'Für die Person, die Ihnen hilft: Versionen, Einstellungen und der Zustand von Engines und KI-Apps. Code, Ausgaben, Passwörter und Token sind nicht enthalten. Lesen Sie sie, bevor Sie sie weitergeben.',
    collect: 'Sammeln',
  },

  space: {
    measuring: 'Wird gemessen…',
    shared: 'Python und was Maschinen gemeinsam haben',
    packages: 'Heruntergeladene Pakete',
    inBin: (name) => `${name} (im Papierkorb)`,
    more: (n) => (n === 1 ? 'Eine weitere Maschine' : `${n} weitere Maschinen`),
    free: 'Platz schaffen…',
    choose: 'Endgültig löschen',
    bin: 'Der Papierkorb',
    checkpoints: (n) =>
      n === 1 ? 'Ein automatischer Sicherungspunkt' : `${n} automatische Sicherungspunkte`,
    means: {
      bin: 'Gelöschte Maschinen lassen sich dann nicht wiederherstellen.',
      checkpoints:
        'Du kannst nicht mehr zu ihnen zurück. Maschinen, Zweige und deine eigenen Sicherungspunkte bleiben.',
      packages: 'Eine neue Maschine lädt sie wieder herunter. Maschinen behalten ihre.',
    },
    confirm: (size) => `Etwa ${size} freigeben`,
    freed: (size) => `${size} freigegeben.`,
  },

  place: {
    move: 'Auf eine andere Festplatte verschieben…',
    back: 'Zurück an den üblichen Ort…',
    choose: 'Ordner auf einer anderen Festplatte',
    text: 'Maschinen werden zuerst gespeichert. Bis zum Ende kann nichts laufen. Die alten Dateien werden erst entfernt, wenn die neuen geprüft sind.',
    confirm: 'Dateien verschieben',
    confirmBack: 'Dateien zurückholen',
    saving: 'Maschinen werden gespeichert…',
    moving: (done: string, all: string) => `Verschoben: ${done} von ${all}`,
    moved: 'Die Dateien sind verschoben.',
    away: 'ForeverVM verschiebt seine Dateien auf eine andere Festplatte…',
  },

  computers: {
    title: 'Andere Computer',
    text: 'Maschinen können auch auf einem anderen Computer mit Linux laufen, den Sie per ssh erreichen. Ihr Code, ihre Variablen und ihre Dateien sind dort. Sie sehen und benutzen sie hier. Wer den anderen Computer verwaltet, kann sie lesen.',
    ssh: 'ForeverVM benutzt ssh so, wie es auf diesem Computer eingerichtet ist, mit seiner Konfiguration und seinen Schlüsseln, und speichert nur die Adresse. ssh muss ohne Passwort hineinkommen.',
    address: 'Computer hinzufügen',
    addressHint: 'Wie für ssh: benutzer@rechner oder ein Name aus Ihrer ssh-Konfiguration.',
    look: 'Ansehen',
    looking: 'Wird angesehen…',
    facts: (address, system, processor, free) =>
      `${address} läuft mit ${system} (${processor}) und hat ${free} frei.`,
    puts: (size, folder) =>
      `ForeverVM legt dort ${size} in ${folder} ab und lässt eine erste Maschine laufen.`,
    isThere: (folder) => `Diese Version von ForeverVM ist dort schon in ${folder}.`,
    add: 'Einrichten',
    preparing: 'Wird eingerichtet…',
    copying: (done, all) => `Kopiert: ${done} von ${all}`,
    meanwhile:
      'Das kann Minuten dauern. Sie können die Einstellungen schließen. Lassen Sie das Fenster offen.',
    added: (address, choice, menu) =>
      `Eine erste Maschine lief dort. „${choice}“ in „${menu}“ bietet ${address} jetzt an.`,
    remove: 'Entfernen…',
    removeText: (address) =>
      `ForeverVM entfernt, was es auf ${address} abgelegt hat, und vergisst die Adresse. Ein Computer mit Maschinen bleibt, auch mit Maschinen im Papierkorb. Löschen Sie diese zuerst endgültig, oder verschieben Sie sie auf diesen Computer.`,
    confirm: 'Entfernen',
    removed: (address) => `${address} ist entfernt.`,
    machineHint:
      'Sie läuft dort. Was sie sendet, geht über diesen Computer, nach ihren Netzwerkregeln.',
  },

  backups: {
    title: 'Sicherungen',
    text: 'ForeverVM kopiert jede Nacht die geänderten Maschinen in einen Ordner. Wählen Sie einen auf einem anderen Laufwerk oder einen synchronisierten. Eine Kopie enthält alles aus ihrer Maschine, auch Schlüssel und Passwörter.',
    folder: 'Ordner',
    running: 'Maschinen werden gesichert…',
    good: (when: string) => `Letzte gute Sicherung: ${when}.`,
    never: 'Noch keine Sicherung.',
    keep: 'Kopien je Maschine',
    machines: 'Zu sichernde Maschinen',
    start: 'Jetzt sichern',
    other: 'Anderen Ordner wählen…',
    stop: 'Sicherungen beenden',
    choose: 'Ordner wählen…',
    use: 'Diesen Ordner verwenden',
    restore:
      'Um eine Maschine wiederherzustellen, wählen Sie „Maschine aus einer Datei öffnen…“ und dann ihre Kopie. Eine Kopie lässt sich in der Version von ForeverVM öffnen, die sie erstellt hat.',
  },

  updates: {
    title: 'Updates',
    runs: (version) => `Dies ist Version ${version}.`,
    newest: (when) => `Sie haben die neueste Version (geprüft ${when}).`,
    newer: (version) => `Version ${version} ist verfügbar`,
    what: 'Ihre Maschinen werden zuerst gespeichert und laufen danach weiter. Ihr Computer fragt vielleicht nach dem Administratorpasswort.',
    install: (size) => `${size} herunterladen und installieren`,
    installReady: 'Installieren',
    loading: (here, size) => `Wird heruntergeladen: ${here} von ${size}`,
    installing: 'Wird installiert. Ihr Computer fragt vielleicht nach dem Administratorpasswort…',
    byHand:
      'Für diesen Computer gibt es kein Paket. Installieren Sie die neue Version so wie diese.',
    check: 'Einmal am Tag nach Updates suchen',
    look: 'Jetzt suchen',
    installed: (version) =>
      `ForeverVM ${version} ist installiert. Laden Sie neu, um die neue Version zu benutzen.`,
  },

  welcome: {
    title: 'Hier kann Ihre KI Code ausführen, und zwar sicher',
    text: 'Eine Maschine ist ein abgeschlossener Arbeitsbereich auf Ihrem eigenen Computer. Code in ihr sieht weder Ihre Dateien noch Ihr Netzwerk, nur das öffentliche Internet. Was er berechnet, bleibt dort, solange Sie wollen, und Sie können jeden Schritt beobachten.',
    ask: 'Fragen Sie Ihre KI-App',
    askText:
      'Sobald Claude Desktop oder eine andere KI-App verbunden ist, bitten Sie sie um eine Analyse. Ihre Maschine erscheint links, und Sie sehen die Arbeit live.',
    tryTitle: 'Oder probieren Sie es selbst',
    tryText:
      'Legen Sie eine Maschine an und führen Sie ein kurzes Beispiel aus, das ein Diagramm zeichnet. Es kann nichts schiefgehen.',
    tryButton: 'Beispiel ausführen',
    newButton: 'Leere Maschine',
    step: (n, of) => `Schritt ${n} von ${of}`,
    next: 'Weiter',
    back: 'Zurück',
    skip: 'Überspringen',
    promises: [
      'Nichts geht verloren: Variablen und Dateien bleiben, auch wenn der Computer aus ist.',
      'Sie sehen alles, was läuft. Sie können es stoppen oder zu einem früheren Stand zurückgehen.',
      'Es läuft auf diesem Computer. Sie brauchen kein Konto und keinen Server.',
    ],
    where: 'Wo Maschinen laufen',
    whereText: 'Dieser Computer hat alles, was Maschinen brauchen.',
    nowhereText:
      'Maschinen können hier noch nicht laufen. Unten steht, was fehlt und wie Sie es beheben.',
    engineUsed: 'Bereit. Neue Maschinen laufen hier.',
    engineWorks: 'Bereit',
    looking: 'Wird geprüft…',
    connected: (names) => `Verbunden: ${names}.`,
    found: (names) => `Auf diesem Computer gefunden: ${names}.`,
    atLogin: 'ForeverVM starten, wenn ich mich an diesem Computer anmelde',
    recent: 'Zuletzt benutzte Maschinen',
    begin: 'Wie möchten Sie beginnen?',
  },

  first: {
    ask: (names) => `Starten Sie ${names} und fragen Sie:`,
    askMore: (names) => `Fragen Sie ${names}, zum Beispiel:`,
    prompt: 'Zeichne mit ForeverVM die ersten hundert Primzahlen.',
    prompts: [
      'Werte mit ForeverVM die Tabelle aus, die ich in den Ordner ForeverVM gelegt habe.',
      'Zeichne mit ForeverVM, was sich in meinen Daten am meisten geändert hat.',
      'Bereinige mit ForeverVM meine Adressliste und entferne Doppelte.',
    ],
    open: (name) => `In ${name} öffnen`,
    copy: 'Kopieren',
    waiting: (names) => `Warten auf ${names}…`,
    here: (names) => `${names} ist da.`,
  },

  apps: {
    title: 'KI-Apps',
    connectOne: 'KI-App verbinden',
    ailing: 'KI-Apps: eine ist getrennt',
    text: 'Eine verbundene App kann Maschinen anlegen und Python darin ausführen. ForeverVM fügt ihren Einstellungen einen Eintrag hinzu und ändert sonst nichts. Trennen stellt den alten Stand wieder her.',
    none: 'ForeverVM hat auf diesem Computer keine unterstützte KI-App gefunden. Wenn Sie eine haben, starten Sie sie einmal.',
    elsewhere: (names) => `Auf diesem Computer nicht gefunden: ${names}.`,
    states: {
      connected: 'Verbunden',
      extension: 'Über die Erweiterung verbunden',
      'not connected': 'Nicht verbunden',
      outdated: 'Ausgeschaltet oder mit einem anderen Programm verbunden',
      unfinished: 'Die Erweiterung wurde nicht installiert',
      wiped: 'Getrennt: die App hat ihre Einstellungen überschrieben',
      official: 'Mit dem gehosteten Dienst verbunden, nicht mit diesem Computer',
      taken: 'Ein anderer Server in ihren Einstellungen hat denselben Namen',
      broken: 'Ihre Einstellungen sind nicht lesbar',
    },
    verbs: { connect: 'Verbinden', disconnect: 'Trennen', repair: 'Reparieren' },
    planTitle: {
      connect: (name) => `${name} verbinden?`,
      disconnect: (name) => `${name} trennen?`,
      repair: (name) => `Verbindung von ${name} reparieren?`,
    },
    planText: {
      connect:
        'ForeverVM fügt den Einstellungen der App einen Eintrag hinzu und bewahrt eine Kopie auf.',
      disconnect:
        'ForeverVM entfernt seinen Eintrag aus den Einstellungen der App und bewahrt eine Kopie auf.',
      repair:
        'ForeverVM fügt den Einstellungen der App seinen Eintrag wieder hinzu und bewahrt eine Kopie auf.',
    },
    hidden: 'Werte anderer Einträge sind verborgen.',
    difference: 'Was sich ändert',
    replacesOfficial:
      'Ihr Code läuft dann auf diesem Computer statt bei forevervm.com. Trennen stellt jene Verbindung wieder her.',
    replacesOther:
      'Das ersetzt den vorhandenen Server mit demselben Namen. Trennen stellt ihn wieder her.',
    done: 'Fertig.',
    atStart: 'Die Änderung gilt ab dem nächsten Start der App.',
    runs: (name, next) => `${name} läuft noch ohne die Änderung. ${next}`,
    restarts: (name) => `${name} neu starten, um die Änderung zu übernehmen`,
    restartsWhy:
      'Die App liest ihre Einstellungen nur beim Start und überschreibt sie vielleicht beim Beenden. Nicht gesendeter Text darin geht verloren.',
    entryInstead:
      'Um sie anders zu verbinden, drücken Sie Reparieren: ForeverVM fügt einen Eintrag in ihre Einstellungen ein.',
    skill: 'Auch einen Skill hinzufügen',
    skillWhy:
      'Ein Skill ist eine Datei, die der App sagt, wann und wie sie Maschinen verwendet. Beim Trennen wird er gelöscht.',
    restarted: (name) => `${name} wurde neu gestartet.`,
    offer: { link: 'Die App fragen lassen', extension: 'Als Erweiterung installieren' },
    extensionStays:
      'Um das zu verhindern, installieren Sie die Erweiterung. Die App überschreibt sie nicht.',
    linkOpened: (name) => `${name} fragt jetzt, ob ForeverVM hinzugefügt werden soll.`,
    extensionOpened: (name, file) =>
      `${name} fragt jetzt, ob die Erweiterung installiert werden soll. Wenn ein anderes Programm sie öffnet, ziehen Sie die Datei ${file} auf die Seite für Erweiterungen in den Einstellungen von ${name}.`,
    neverSeen: 'Noch nicht benutzt.',
    seen: (when, calls) =>
      `Zuletzt benutzt ${when}, ${number(calls)} ${calls === 1 ? 'Werkzeugaufruf' : 'Werkzeugaufrufe'}`,
    seenVersion: (version, when, calls) =>
      `Zuletzt benutzt ${when} (Version ${version}), ${number(calls)} ${calls === 1 ? 'Werkzeugaufruf' : 'Werkzeugaufrufe'}`,
    test: 'Testen',
    works: (ms) => `Die Verbindung funktioniert. Sie hat nach ${Math.round(ms)} ms geantwortet.`,
    backups: 'Frühere Einstellungen',
    backupsTitle: (name) => `Frühere Einstellungen von ${name}`,
    backupsText:
      'Kopien von vor jeder Änderung. Wer eine wiederherstellt, speichert zuerst die jetzigen Einstellungen.',
    noBackups: 'Noch keine Kopien. ForeverVM behält vor jeder Änderung eine.',
    restore: 'Wiederherstellen',
    back: 'Zurück',
  },

  hosted: {
    title: 'Gehosteter Dienst',
    text: 'Mit einem ForeverVM-Konto zeigt die Liste auch Ihre Maschinen beim gehosteten Dienst. Maschinen auf diesem Computer brauchen kein Konto.',
    sent: 'Code, den Sie oder eine KI-App in einer gehosteten Maschine ausführen, geht mit seinen Eingaben an den Dienst. Von Maschinen auf diesem Computer wird nichts gesendet.',
    account: 'Konto',
    accountName: 'Kontoname',
    nameHint: '3 bis 16 Buchstaben, Ziffern, Unterstriche und Bindestriche.',
    server: 'Dienst',
    otherServer: 'Andere Adresse des Dienstes benutzen',
    token: 'Token',
    tokenHint: 'Es kam per E-Mail. Es wird nur im Schlüsselbund Ihres Computers gespeichert.',
    email: 'E-Mail-Adresse',
    signIn: 'Anmelden',
    signOut: 'Abmelden',
    signUp: 'Konto anlegen',
    signedUp: (email) =>
      `Fertig. Das Token ist unterwegs an ${email}. Melden Sie sich hier damit an.`,
    noAccount: 'Ich habe kein Konto',
    haveToken: 'Ich habe ein Token',
    fromEnvironment:
      'ForeverVM wurde mit der Variablen FOREVERVM_TOKEN gestartet. Sie legt fest, wer angemeldet ist.',
    official: (path, token) =>
      `Die offizielle Befehlszeile bewahrt ein Token (${token}) in ${path} auf, wo jedes Programm es lesen kann.`,
    takeOver: 'Damit anmelden',
    removeText: (path) =>
      `Das Token ist jetzt im Schlüsselbund. Es steht auch noch in ${path}, wo jedes Programm es lesen kann.`,
    remove: 'Diese Datei löschen',
    others: 'Andere gespeicherte Konten',
    use: 'Benutzen',
    machine: 'Gehostet',
    machineHint: 'Sie läuft beim gehosteten Dienst. Sie sehen nur, was dieser Computer ihr sendet.',
    less: 'Sie läuft beim gehosteten Dienst, der keine Sicherungspunkte, Kopien, Dateien oder Variablen bietet. Maschinen auf diesem Computer haben sie.',
  },

  machine: {
    empty: 'Hier lief noch nichts',
    emptyText:
      'Schreiben Sie unten Python und drücken Sie Umschalt+Eingabe, oder lassen Sie Ihre KI-App diese Maschine benutzen.',
    start: 'Der Anfang',
    forkedFrom: (name) => `Entstanden aus ${name}`,
    loadEarlier: 'Frühere Schritte zeigen',
    latest: 'Zum neuesten springen',
    stop: 'Stoppen',
    stopHint: 'Den laufenden Code stoppen',
    resume: 'Fortsetzen',
    resumeHint: 'Den angehaltenen Code fortsetzen',
    save: 'Sicherungspunkt speichern',
    saveShort: 'Sicherungspunkt',
    more: 'Mehr zu dieser Maschine',
    details: 'Name und Tags…',
    pause: 'Anhalten',
    sleep: 'Schlafen legen',
    wake: 'Wecken',
    copy: 'Diese Maschine kopieren…',
    archive: 'Archivieren',
    unarchive: 'Aus dem Archiv holen',
    report: 'Bericht der Ergebnisse exportieren…',
    exports: {
      ipynb: 'Als Jupyter-Notebook exportieren',
      html: 'Alles als Webseite exportieren',
      md: 'Als Markdown exportieren',
      py: 'Den Code exportieren',
    },
    move: 'An einen anderen Ort verschieben…',
    pack: 'Als Datei speichern…',
    memory: 'Arbeitsspeicher begrenzen…',
    openResults: 'Ergebnisordner öffnen',
    share: 'Ordner freigeben…',
    sentenceCopy: 'Prompt zum Weitermachen kopieren',
    sentence: (name, title) =>
      `Mach in der ForeverVM-Maschine ${name}${title ? ` („${title}“)` : ''} weiter: Alles von vorher ist noch da. Sieh dir zuerst ihre Variablen an.`,
    sentenceCopied: 'Kopiert. Fügen Sie es in Ihre KI-App ein.',
    remove: 'Löschen',
    removed: (name) => `${name} liegt jetzt im Papierkorb.`,
    undo: 'Rückgängig',
    notFound: 'Diese Maschine gibt es nicht mehr.',
    loadFailed: 'Die bisherige Arbeit konnte nicht geladen werden.',
    retry: 'Noch einmal versuchen',
    history: 'Bisherige Arbeit',
  },

  shared: {
    title: 'Ordner freigeben',
    text: 'Code in dieser Maschine sieht den echten Ordner unter /mnt/shared. Er kann, was er dort liest, an jede Adresse senden, die die Maschine erreichen darf (siehe Netzwerk). Sicherungspunkte enthalten den Ordner nie, und Kopien der Maschine sehen ihn nicht.',
    folder: 'Ordner',
    folderHint: 'Sein voller Pfad auf dem Computer, auf dem ForeverVM läuft',
    choose: 'Auswählen…',
    chooseTitle: 'Welchen Ordner darf die Maschine sehen?',
    writable: 'Code darf ihn auch ändern',
    writableText:
      'Code kann dann Dateien im Ordner ändern, hinzufügen und löschen. ForeverVM kann sie nicht zurückholen. Es warnt Sie vor neuen Dateien, auf die Programme Ihres Computers, wie git oder Editoren, automatisch reagieren.',
    awake:
      'ForeverVM speichert die Maschine und weckt sie wieder. Code muss seine Dateien in einem freigegebenen Ordner vielleicht neu öffnen.',
    confirm: 'Freigeben',
    sees: 'Diese Maschine sieht Ihren Ordner',
    changes: 'Diese Maschine sieht Ihren Ordner und darf ihn ändern',
    change: 'Ändern…',
    stop: 'Freigabe beenden',
  },

  files: {
    title: 'Dateien',
    asleep: 'Diese Maschine schläft.',
    wake: 'Wecken und ihre Dateien zeigen',
    home: 'Dateien',
    place: 'Aktueller Ordner',
    back: 'Zurück zur Liste',
    refresh: 'Aktualisieren',
    newFolder: 'Neuer Ordner',
    folderName: 'Name des Ordners',
    make: 'Anlegen',
    upload: 'Dateien in diesen Ordner legen',
    uploadShort: 'Dateien hinzufügen',
    dropHere: (machine) => `An „${machine}“ geben`,
    given: (file, machine, path) => `„${machine}“ hat ${file} jetzt, als ${path}`,
    drop: 'Dateien hier ablegen',
    noFolders: 'Ordner kann man hier nicht ablegen. „forevervm cp“ kopiert ganze Ordner.',
    sending: (name) => `${name} wird gesendet`,
    stopSending: (name) => `Senden von ${name} abbrechen`,
    stopSaving: (name) => `Speichern von ${name} abbrechen`,
    save: 'Auf diesem Computer speichern',
    download: (name) => `${name} auf diesem Computer speichern`,
    delete: 'Löschen',
    remove: (name) => `${name} löschen`,
    removeTitle: (name) => `${name} löschen?`,
    removeText: 'Die Maschine verliert diese Datei. Frühere Sicherungspunkte haben sie noch.',
    removeFolderText:
      'Die Maschine verliert diesen Ordner mit allem darin. Frühere Sicherungspunkte haben ihn noch.',
    loading: 'Wird geladen…',
    retry: 'Noch einmal versuchen',
    emptyHome:
      'Hier ist noch nichts. Legen Sie Dateien hier ab, oder lassen Sie Code welche schreiben.',
    empty: 'Dieser Ordner ist leer.',
    more: 'Es gibt mehr Dateien, als hier gezeigt werden.',
    noPreview:
      'Für diese Art von Datei gibt es keine Vorschau. Sie können sie auf diesem Computer speichern.',
    picture: (name) => `Das Bild ${name}`,
    cut: (size) => `Dies ist der Anfang. Die ganze Datei hat ${size}.`,
    disk: 'Speicherplatz der Maschine',
    diskHint: 'Was diese Maschine geschrieben hat, und ihre Grenze',
    used: (used, size) => `${used} von ${size} belegt`,
    inbox: (folder) =>
      `Legen Sie Dateien in ${folder}, dann kann jede Maschine sie lesen. Was Maschinen für Sie speichern, erscheint in diesem Ordner unter Results.`,
    folder: 'Ordner',
    kinds: {
      file: 'Datei',
      folder: 'Ordner',
      link: 'Verknüpfung',
      other: 'Weder Datei noch Ordner',
    },
  },

  network: {
    title: 'Netzwerk',
    reaches: 'Was diese Maschine erreichen darf',
    standard: 'Was Maschinen erreichen dürfen',
    standardText: 'Gilt für jede Maschine ohne eigene Regel.',
    modes: {
      default: 'Standard',
      public: 'Das öffentliche Internet',
      ask: 'Was Sie auf Nachfrage erlauben',
      list: 'Nur die hier genannten Websites',
      off: 'Nichts',
    },
    asStandard: (mode) => `Standard: ${mode}`,
    never:
      'Eine Maschine erreicht Ihren Computer und die Geräte um ihn herum nur, wenn Sie sie mit Namen oder Adresse nennen.',
    upstream: (proxy) =>
      `Dieser Computer erreicht das Internet über den Proxy ${proxy}, der Namen selbst auflöst. Regeln für Namen gelten. Die Adressen dahinter werden nicht geprüft.`,
    hosts: 'Genannte Websites',
    approved: 'Auf Nachfrage erlaubt',
    add: 'Website hinzufügen',
    addHint: 'example.com, *.example.com oder 192.168.1.5:5432',
    addShort: 'Hinzufügen',
    remove: (host) => `${host} entfernen`,
    contacts: 'Verbindungen',
    none: 'Noch keine Verbindungen und keine Versuche.',
    earlier: 'Frühere zeigen',
    carried: (names) => `Damit ging ${names} mit.`,
    states: {
      asking: 'Wartet auf Sie',
      open: 'Offen',
      closed: 'Erreicht',
      denied: 'Nicht erlaubt',
      failed: 'Nicht erreicht',
    },
    moved: (sent, received) => `${sent} gesendet, ${received} empfangen`,
    question: (machine) => `${machine} möchte erreichen`,
    step: (seq, app) =>
      app ? `${app} führt dort Schritt ${seq + 1} aus.` : `Dort läuft Schritt ${seq + 1}.`,
    waits: (left) => `Der Code wartet. Keine Antwort in ${left} heißt Nein.`,
    more: (n) => (n === 1 ? 'Eine weitere Frage wartet.' : `${n} weitere Fragen warten.`),
    answers: {
      deny: 'Nein',
      once: 'Für diesen Schritt erlauben',
      machine: 'Immer, für diese Maschine',
      always: 'Immer, für jede Maschine',
    },
  },

  secrets: {
    title: 'Schlüssel',
    text: 'Code braucht oft den Schlüssel eines Dienstes. Bewahren Sie ihn hier auf: Dann arbeitet Code damit und sieht ihn nie. Nur die Websites, die Sie nennen, bekommen ihn. Er liegt im Schlüsselbund Ihres Computers.',
    name: 'Name',
    nameHint: 'Die Umgebungsvariable, in der Code den Schlüssel sucht.',
    value: 'Schlüssel',
    valueHint: 'Er wird nicht noch einmal angezeigt.',
    hosts: 'Websites, die ihn bekommen',
    hostsHint: 'Etwa api.openai.com oder *.openai.com.',
    keep: 'Schlüssel aufbewahren',
    kept: (name) => `Aufbewahrt. Ihre KI-App kann ${name} jetzt benutzen.`,
    goes: (hosts) => `geht an ${hosts}`,
    remove: 'Vergessen',
  },

  access: {
    title: 'Zugang',
    text: 'Jede KI-App hat ein eigenes Token. Es öffnet, was die Werkzeuge der App mit Maschinen tun, und nicht mehr: keine Einstellungen, keine Netzwerkregeln, keine Ihrer Ordner. Sperren Sie eine App aus, die Sie nicht mehr wollen.',
    kinds: { app: 'KI-App', program: 'Programm' },
    revoked: 'Ausgesperrt',
    used: (day) => `zuletzt benutzt am ${day}`,
    unused: 'noch nicht benutzt',
    allow: 'Wieder erlauben',
    lockOut: 'Aussperren',
    remove: 'Löschen',
    make: 'Token für ein Programm',
    makeHint: 'Wie Sie das Programm nennen. Es kann, was KI-Apps können.',
    makeShort: 'Token erstellen',
    made: 'Kopieren Sie dieses Token jetzt. Es wird nicht noch einmal gezeigt.',
    record: 'Protokoll',
    recordText:
      'Was freigegeben, erlaubt, herausgegeben und geändert wurde, das Neueste zuerst. Einträge bleiben für immer.',
    broken: (entry) =>
      `Etwas hat dieses Protokoll von außen geändert: Eintrag ${number(entry)} folgt nicht auf den vorigen.`,
    byOwner: 'Sie',
    nothing: 'Noch nichts.',
    actions: {
      share: 'Ordner freigegeben',
      unshare: 'Freigabe beendet',
      network: 'Netzwerkregel',
      answer: 'Antwort',
      contact: 'Verbindung',
      settings: 'Einstellung',
      export: 'Als Datei gespeichert',
      import: 'Aus einer Datei geöffnet',
      connect: 'KI-App verbunden',
      disconnect: 'KI-App getrennt',
      account: 'Konto',
      token: 'Token',
      place: 'Ort',
      secret: 'Schlüssel',
      purge: 'Endgültig gelöscht',
      update: 'Update',
      move: 'Dateien verschoben',
    },
  },

  permission: {
    asks: (app) => `${app} fragt Sie`,
    rewind: (machine, steps) =>
      `${machine} auf einen früheren Stand zurücksetzen? Das macht ${steps === 1 ? 'einen Schritt' : `${number(steps)} Schritte`} rückgängig. Sie können später zum jetzigen Stand zurückkehren.`,
    memory: (gb) =>
      `Eine Maschine mit bis zu ${number(gb)} GB Arbeitsspeicher anlegen? Üblich sind 2 GB.`,
    allow: 'Erlauben',
    deny: 'Nein',
  },

  step: {
    number: (seq) => `Schritt ${seq + 1}`,
    code: 'Code',
    /** What code does, in the middle of a sentence. */
    does: {
      installs: (names) => `installiert ${names}`,
      fetches: (names) => `holt Daten von ${names}`,
      reads: (names) => `liest ${names}`,
      fits: () => 'passt ein Modell an',
      draws: () => 'zeichnet ein Diagramm',
      saves: (names) => `speichert ${names}`,
      defines: (names) => `definiert ${names}`,
      computes: (names) => `berechnet ${names}`,
      shows: (names) => `zeigt ${names}`,
      loads: (names) => `lädt ${names}`,
    },
    linesOfCode: (n) => `${number(n)} ${n === 1 ? 'Zeile' : 'Zeilen'} Python`,
    shown: { results: 'Ergebnisse', everything: 'Alles' },
    shownHint: 'Was diese Seite von den Schritten anderer zeigt',
    done: 'Fertig',
    queued: 'Wartet, bis er dran ist',
    running: 'Läuft',
    cancelled: 'Vor dem Ausführen abgebrochen',
    failed: 'Fehlgeschlagen',
    interrupted: 'Gestoppt',
    timeout: 'Dauerte zu lange und wurde gestoppt',
    undone: 'Rückgängig gemacht',
    undoneHint:
      'Die Maschine ging zu einem früheren Stand zurück. Ihre Variablen und Dateien sind wie vor diesem Schritt.',
    cancel: 'Abbrechen',
    copyCode: 'Code kopieren',
    copyOutput: 'Ergebnis kopieren',
    copied: 'Kopiert',
    allowAgain: (hosts) => `${hosts} erlauben und noch einmal ausführen`,
    fix: 'Bitte um Behebung kopieren',
    fixPrompt: (machine, seq, error) =>
      `In der ForeverVM-Maschine ${machine} ist Schritt ${seq + 1} fehlgeschlagen: ${error}\nFinde heraus, warum, und behebe es.`,
    goBack: 'Zurück vor diesen Schritt',
    goBackTo: (seq) => `Zurück hinter Schritt ${seq + 1}`,
    newFrom: 'Neue Maschine ab hier',
    runAgain: 'Noch einmal ausführen',
    traceback: 'Was Python sagt',
    hiddenLines: (n) => `${number(n)} weitere ${n === 1 ? 'Zeile' : 'Zeilen'}`,
    showAll: 'Alles zeigen',
    showCode: (n) => `Alle ${number(n)} Zeilen zeigen`,
    showLess: 'Weniger zeigen',
    gap: 'Die Ausgabe dazwischen wird hier nicht gezeigt.',
    omitted: (n) => `${number(n)} Teile dazwischen werden nicht gezeigt`,
    outputLost: (size) => `${size} der Ausgabe waren zu viel, um sie zu behalten.`,
    background: 'Später ausgegeben, als nichts lief',
    warnings: (n: number) => (n === 1 ? 'Eine Warnung' : `${n} Warnungen`),
    loadFailed: 'Die Ausgabe konnte nicht geladen werden.',
    retry: 'Noch einmal versuchen',
    cutLine: (n) => `… ${number(n)} weitere Zeichen`,
    interactive:
      'Diese Art von interaktiver Abbildung wird hier nicht gezeigt. Abbildungen von matplotlib und Plotly schon.',
    figureData: 'Die Daten der Abbildung',
    heldUp:
      'Diese Abbildung wurde beim letzten Mal nicht fertig gezeichnet. Sie kann die Seite einfrieren.',
    drawAnyway: 'Trotzdem zeichnen',
    notShown: 'Diese Art von Ausgabe kann hier nicht gezeigt werden.',
    tooMuch:
      'Diese Tabelle oder Seite ist zu groß: Sie würde das Fenster einfrieren. Verlangen Sie einen kleineren Teil, zum Beispiel die ersten Zeilen.',
  },

  output: {
    title: 'Alle Ausgaben',
    loading: 'Wird geladen…',
    close: 'Schließen',
    copy: 'Kopieren',
    save: 'Als Datei speichern',
    savedTo: (path) => `Gespeichert als ${path}`,
    partly:
      'Das ist zu lang, um es auf einmal zu zeigen. Sie sehen Anfang und Ende. Die Datei enthält alles.',
    between: (n) =>
      `… ${number(n)} ${n === 1 ? 'Zeile wird' : 'Zeilen werden'} hier nicht gezeigt …`,
    lines: (n) => `${number(n)} ${n === 1 ? 'Zeile' : 'Zeilen'}`,
    saveTable: 'Diese Tabelle als CSV speichern',
    saveShown: 'Den gezeigten Teil als CSV speichern',
    shortened:
      'Diese Tabelle ist gekürzt. Wenn sie in einer Variablen steht, öffnen Sie diese, um alles zu sehen.',
    find: 'Suchen',
    found: (n, of) => `${number(n)} von ${number(of)}`,
    picture: 'Bild aus diesem Schritt',
    rich: 'Tabelle oder formatierte Ausgabe dieses Schritts',
    pictureFailed: 'Das Bild konnte nicht geladen werden.',
    pictureTooMuch:
      'Diese Zeichnung hat zu viele Teile: Sie würde das Fenster einfrieren. Verlangen Sie sie als PNG.',
    enlarge: 'Bild vergrößern',
    figureWaits: 'Diese Abbildung wird gezeichnet, sobald sie zu sehen ist.',
    saveFigure: (format) => `Diese Abbildung als ${format.toUpperCase()} speichern`,
    noPicture:
      'Diese Abbildung hat noch kein Bild zum Speichern oder lässt sich nicht als Bild speichern.',
    hugePicture: 'Das Bild dieser Abbildung ist zu groß zum Speichern.',
    slowPicture:
      'Die Abbildung lieferte innerhalb einer Minute kein Bild. Sie hat vielleicht zu viele Daten.',
  },

  chat: {
    waiting: 'Wartet, bis der Code beginnt',
    larger: 'Größer zeigen',
    open: 'ForeverVM öffnen',
  },

  drop: {
    title: 'Eine Datei für Ihre KI-App',
    ask: (machine, path) =>
      path.endsWith('/')
        ? `Ihre KI-App bittet um eine Datei. Sie kommt in den Ordner ${path} der Maschine ${machine}`
        : `Ihre KI-App bittet um eine Datei. Sie kommt in die Maschine ${machine}, als ${path}`,
    choose: 'Datei auswählen',
    hint: 'Oder hier ablegen. Der Link nimmt 10 Minuten lang eine Datei an.',
    one: 'Dieser Link nimmt eine Datei an. Legen Sie nur eine ab.',
    zone: 'Platz für die Datei',
    done: (file, size) => `Die Datei ist da: ${file}, ${size}.`,
    next: 'Gehen Sie zurück zu Ihrer KI-App und lassen Sie sie weitermachen.',
  },

  editor: {
    label: 'Python-Code für diese Maschine',
    placeholder: 'Bei Bedarf: selbst Python ausführen',
    sentence: 'Dieses Feld führt Python aus. In Worten fragen Sie Ihre KI-App.',
    copyRequest: 'Als Bitte kopieren',
    request: (machine, text) => `In der ForeverVM-Maschine ${machine}: ${text}`,
    runAnyway: 'Trotzdem ausführen',
    run: 'Ausführen',
    queue: 'Als Nächstes ausführen',
    hint: 'Umschalt+Eingabe',
    busy: 'Die Maschine hat nicht rechtzeitig geantwortet. Sie ist beschäftigt, oder die Antwort dauert zu lange. Versuchen Sie es noch einmal.',
    unknown: 'Zu diesem Namen gibt es noch keine Auskunft.',
  },

  checkpoint: {
    title: 'Sicherungspunkt speichern',
    text: 'Ein Sicherungspunkt behält alles, wie es jetzt ist: Variablen und Dateien. Sie können jederzeit zu ihm zurückgehen.',
    label: 'Name (optional)',
    placeholder: 'Vor dem Bereinigen der Daten',
    save: 'Speichern',
    saved: 'Sicherungspunkt gespeichert.',
    kept: 'Der Sicherungspunkt bleibt erhalten.',
    unnamed: 'Sicherungspunkt',
    rewind: 'Hierhin zurückgehen',
    fork: 'Neue Maschine von hier',
    remove: 'Diesen Sicherungspunkt löschen',
  },

  side: {
    title: 'Über diese Maschine',
    show: 'Sicherungspunkte, Diagramme, Dateien und mehr zeigen',
    hide: 'Bereich ausblenden',
    resize: 'Breite des Bereichs',
    plots: 'Diagramme',
    variables: 'Variablen',
    checkpoints: 'Sicherungspunkte',
    about: 'Über',
  },

  plots: {
    none: 'Diagramme und Bilder aus dem Code erscheinen hier, jedes mit einem Link zu seinem Schritt.',
    failed: 'Die Diagramme konnten nicht geladen werden.',
    previous: 'Voriges Diagramm',
    next: 'Nächstes Diagramm',
    count: (n, of, more) => `${n} von ${of}${more ? '+' : ''}`,
    earlier: 'Frühere',
    strip: 'Alle Diagramme',
    thumbnail: (seq) => `Diagramm von Schritt ${seq + 1}`,
    copy: 'Bild kopieren',
    copied: 'Das Bild wurde kopiert.',
    savePng: 'Als PNG speichern',
    saveSvg: 'Als SVG speichern, das in jeder Größe scharf bleibt',
  },

  variables: {
    search: 'Variablen suchen',
    none: 'Noch keine Variablen. Sie erscheinen hier, sobald Code welche anlegt.',
    changed: 'Neu oder vom letzten Schritt geändert',
    old: 'Python ist beschäftigt. Sie sehen die Werte von vorher.',
    asleep: 'Die Maschine schläft. Sie sehen ihre letzten Werte.',
    asleepAndUnknown:
      'Die Maschine schläft. Ihre Variablen sind sicher. Wecken Sie sie, um sie zu sehen.',
    table: (rows, columns) =>
      columns === undefined
        ? `Spalte mit ${number(rows)} ${rows === 1 ? 'Wert' : 'Werten'}`
        : `Tabelle, ${number(rows)} ${rows === 1 ? 'Zeile' : 'Zeilen'} × ${number(columns)} ${columns === 1 ? 'Spalte' : 'Spalten'}`,
    tables: 'Tabellen',
    values: 'Werte',
    code: 'Funktionen und Importe',
    kinds: { function: 'Funktion', class: 'Klasse' },
  },

  table: {
    text: (type, rows, columns) =>
      `${type}, ${number(rows)} × ${number(columns)}. Nur sichtbare Zeilen werden geladen. Die Maschine sortiert und filtert.`,
    open: 'Als Tabelle öffnen',
    formats: { csv: 'CSV', xlsx: 'Excel' },
    index: 'Index',
    sort: (column) => `Nach ${column} sortieren`,
    filter: (column) => `${column} filtern`,
    filterNumbers: '> 5',
    filterText: 'enthält…',
    filterHint:
      'Geben Sie einen Teil des Textes oder einen Vergleich ein: > 5, <= 2025-02, != Paris.',
    clearFilters: 'Filter leeren',
    spread: (range) => `Wie die Werte verteilt sind, von ${range}`,
    only: (value) => `Nur Zeilen mit „${value}“ zeigen`,
    distinct: (n) => `${number(n)} verschiedene`,
    missing: (n, percent) => `${number(n)} ${n === 1 ? 'fehlt' : 'fehlen'} (${percent} %)`,
    sampled: 'Aus einem Teil der Zeilen.',
    rows: (from, n, of, all) =>
      `${n === 0 ? 0 : number(from + 1)}–${number(from + n)} von ${number(of)}${of === all ? '' : ` (insgesamt ${number(all)})`}`,
    columns: (from, n, of) => `Spalten ${number(from + 1)}–${number(from + n)} von ${number(of)}`,
    columnsBefore: 'Spalten davor',
    columnsAfter: 'Spalten danach',
    empty: '–',
    saveHint: 'Speichert alle passenden Zeilen in dieser Reihenfolge',
    busy: 'Die Maschine hat nicht rechtzeitig geantwortet. Sie ist beschäftigt, oder die Tabelle ist zu groß, um sie hier zu sortieren oder zu filtern. Versuchen Sie es noch einmal, oder tun Sie es im Code.',
  },

  checkpoints: {
    text: 'Zu diesen Ständen kann die Maschine zurückgehen. ForeverVM speichert nach jeder Arbeit einen und entfernt später viele davon. Die, die Sie behalten, bleiben. Wenn Sie zurückgehen, bleibt die verlassene Arbeit als Zweig.',
    none: 'Noch keine Sicherungspunkte.',
    after: (seq) => (seq < 0 ? 'Der Anfang' : `Nach Schritt ${seq + 1}`),
    now: '● Jetzt',
    here: (seq) =>
      `Sie sind wieder hier, nach Schritt ${seq + 1}. Die zurückgenommenen Schritte darunter bleiben als Zweig.`,
    keep: 'Behalten…',
    rename: 'Umbenennen…',
    show: 'Seinen Schritt zeigen',
    isKept: 'Bleibt, bis Sie ihn löschen',
    passes: 'Automatisch. Er wird vielleicht später entfernt, wenn Sie ihn nicht behalten',
  },

  keep: {
    title: 'Diesen Sicherungspunkt behalten',
    text: 'Er bleibt, bis Sie ihn löschen.',
    confirm: 'Behalten',
  },

  about: {
    memory: 'Arbeitsspeicher',
    memoryLine: 'Arbeitsspeicher im Zeitverlauf',
    cpu: 'Prozessor',
    cpuLine: 'Prozessorlast im Zeitverlauf',
    since: 'Seit Sie diese Seite geöffnet haben, höchstens 15 Minuten.',
    of: (used, limit) => `${used} von ${limit} belegt`,
    percent: (cpu) => `${Math.round(cpu * 100)} % von einem`,
    none: 'Keiner: Sie schläft',
    name: 'Name',
    state: 'Zustand',
    engine: 'Läuft',
    image: 'Enthält',
    images: {
      base: 'Python mit den üblichen Bibliotheken',
      ml: 'Python mit den üblichen Bibliotheken, torch und transformers',
    },
    steps: 'Schritte',
    made: 'Angelegt',
    active: 'Zuletzt benutzt',
    user: 'Benutzt von',
    expires: 'Läuft ab',
    parent: 'Entstanden aus',
    limit: 'Grenze des Arbeitsspeichers',
    tags: 'Tags',
    connect: 'Aus Ihren eigenen Programmen',
    connectText: 'Benutzen Sie eines davon, um diese Maschine zu erreichen.',
    copy: 'Kopieren',
    copied: 'Kopiert.',
  },

  rewind: {
    lastStep: 'Zurück vor den letzten Schritt',
    title: (name) => `Zu „${name}“ zurückgehen?`,
    going: 'Es geht zurück…',
    looking: 'Es wird nachgesehen, was dort ist…',
    variables: 'Daten dort',
    files: 'Dateien dort',
    empty: 'Dort sind noch keine Daten und keine Datei.',
    text: (later) =>
      later === 0
        ? 'Variablen und Dateien werden wieder so, wie sie damals waren.'
        : `Variablen und Dateien werden wieder so, wie sie damals waren. Die Arbeit ${later === 1 ? 'des Schritts' : `der ${later} Schritte`} danach wird beiseitegelegt. Sie können ${later === 1 ? 'ihn' : 'sie'} hier weiterhin lesen.`,
    kept: 'Was Sie verlassen, bleibt als Zweig unter Sicherungspunkte. Sie können zu ihm zurückgehen.',
    toBranch: (name) => `Variablen und Dateien werden so, wie sie auf „${name}“ waren.`,
    keepAs: 'Name des Zweigs, den Sie verlassen (optional)',
    keepAsHint:
      'Mit Namen bleibt er, bis Sie ihn löschen. Ohne Namen bleiben die letzten 20 Zweige.',
    confirm: 'Zurückgehen',
    done: 'Die Maschine ist wieder dort, wo Sie sie haben wollten.',
    undo: 'Rückgängig',
  },

  compare: {
    title: 'Unterschiede',
    now: 'Mit jetzt vergleichen',
    other: 'Mit einem anderen vergleichen…',
    this: 'Mit diesem vergleichen',
    choose: (name) => `Wählen Sie, womit „${name}“ verglichen wird.`,
    present: 'Jetzt',
    text: (from, to) => `Von „${from}“ zu „${to}“.`,
    looking:
      'Beide Stände werden verglichen. Dafür werden sie kurz in den Arbeitsspeicher geladen, ohne Netzwerk…',
    nothing: 'Keine Unterschiede.',
    variables: 'Variablen',
    files: 'Dateien',
    onlyFrom: (name) => `Schritte, die nur „${name}“ hat`,
    onlyTo: (name) => `Schritte, die nur „${name}“ hat`,
    kinds: { added: 'Hinzugefügt', removed: 'Entfernt', changed: 'Geändert' },
    written: 'Geschrieben',
    writtenText: 'Sie wurde geschrieben und ist gleich groß. Sie ist zu groß für den Vergleich.',
    before: 'Vorher',
    after: 'Nachher',
    column: (name) => `„${name}“ geändert`,
    means: (name, before, after) => `Mittelwert von „${name}“: ${before} → ${after}`,
    step: (seq) => `Schritt ${seq + 1}`,
    unsure: (names, n) =>
      `${n === 1 ? 'Dies sieht' : 'Diese sehen'} gleich aus und ${n === 1 ? 'konnte' : 'konnten'} nicht ganz verglichen werden: ${names}`,
    partial: 'Nicht alle Variablen, Dateien oder Ordner wurden verglichen: Es gibt zu viele davon.',
    more: (n) => `und ${number(n)} weitere`,
  },

  branch: {
    mark: 'Zweig',
    on: (name) => `Sie sind auf dem Zweig „${name}“.`,
    own: (steps) =>
      steps === 0
        ? 'keine eigenen Schritte'
        : `${steps} ${steps === 1 ? 'eigener Schritt' : 'eigene Schritte'}`,
    left: (when) => `verlassen ${when}`,
    back: 'Zu ihm zurückgehen',
    rename: 'Zweig umbenennen…',
    remove: 'Diesen Zweig löschen',
    renameTitle: 'Name des Zweigs',
    renameText: 'Ein Zweig mit Namen bleibt, bis Sie ihn löschen.',
    label: 'Name',
    save: 'Umbenennen',
    explain: 'Was Sie beim Zurückgehen verlassen haben. Sie können dorthin zurück.',
  },

  move: {
    title: 'Diese Maschine verschieben',
    text: 'Variablen, Dateien, Verlauf, behaltene Sicherungspunkte und Zweige kommen mit. Beim Verschieben auf einen anderen Computer oder von dort werden ältere automatische Sicherungspunkte gelöscht. Laufender Code pausiert und läuft dort weiter.',
    confirm: 'Verschieben',
    moving: 'Wird verschoben. Das kann Minuten dauern und läuft weiter, wenn Sie dies schließen.',
    done: (machine) => `${machine} wurde verschoben.`,
  },

  fork: {
    title: 'Neue Maschine aus diesem Stand',
    text: 'Eine zweite Maschine beginnt mit den Variablen und Dateien dieses Stands. Die erste bleibt, wie sie ist.',
    name: 'Titel (optional)',
    confirm: 'Anlegen',
  },

  details: {
    title: 'Name und Tags',
    titleLabel: 'Titel',
    titleHint: 'Wofür sie da ist, in Ihren eigenen Worten',
    nameLabel: 'Name',
    nameHint: 'Programme und KI-Apps benutzen ihn. Alte Namen gelten weiter.',
    tagsLabel: 'Tags',
    tagsHint: 'Einer pro Zeile, wie project=sales',
    save: 'Speichern',
    badTag: (line) => `„${line}“ ist kein Tag: Schreiben Sie ein Wort oder key=value.`,
  },

  purge: {
    title: (name) => `${name} endgültig löschen?`,
    text: 'Verlauf, Variablen und Dateien werden von diesem Computer entfernt. Das lässt sich nicht rückgängig machen.',
    confirm: 'Endgültig löschen',
  },

  status: {
    engine: (name) =>
      ({
        native: 'Auf diesem Computer',
        docker: 'Auf diesem Computer, in Docker',
        vm: 'Auf diesem Computer, in einer virtuellen Maschine',
        wsl: 'Auf diesem Computer, in WSL',
        hosted: 'Beim gehosteten Dienst',
      })[name] ?? `Auf ${name.replace(/^ssh:/, '')}`,
    noEngine: 'Maschinen können noch nicht laufen',
    lookAgain: 'Starten oder noch einmal prüfen',
    hostedInstead: 'Den gehosteten Dienst benutzen',
    running: (n) => (n === 0 ? 'Nichts läuft' : n === 1 ? '1 läuft' : `${n} laufen`),
    paused: (n: number) => `${n} angehalten`,
    awake: (n) => `${n} wach`,
    memory: (size) => `${size} Arbeitsspeicher`,
    offline: 'Wird neu verbunden…',
    details: 'Was das bedeutet',
    notes: 'Manche Grenzen gelten hier nicht',
  },

  locked: {
    title: 'Diese Seite braucht einen Schlüssel',
    text: 'Sie zeigt, was auf Ihrem Computer läuft. Darum öffnet sie sich nur von dort. Benutzen Sie das ForeverVM-Fenster, oder führen Sie dies in einem Terminal aus:',
    command: 'forevervm open',
    again: 'Ein Link öffnet die Seite einmal. Ist Ihrer schon benutzt, fordern Sie einen neuen an.',
  },

  failed: {
    title: 'ForeverVM ist nicht erreichbar',
    retry: 'Noch einmal versuchen',
  },

  stranger:
    'Ein anderes Programm antwortet anstelle von ForeverVM. Diese Seite sendet ihm nichts. Öffnen Sie mit „forevervm open“ die richtige Seite.',

  connecting: 'Startet…',
  moreFor: (name) => `Mehr zu ${name}`,
  cancel: 'Abbrechen',
  close: 'Schließen',
  messages: 'Meldungen',
  dismiss: 'Verwerfen',

  errors: {
    unreachable:
      'ForeverVM antwortet nicht. Vielleicht startet es gerade neu; versuchen Sie es gleich noch einmal.',
    unexpected: (status) => `ForeverVM hat mit einem unerwarteten Fehler geantwortet (${status}).`,
    noAddress: 'Diese Ausgabe hat keine Adresse.',
    unreadable: 'Die Datei ist nicht lesbar.',
  },

  codes: {
    Busy: 'Die Maschine ist beschäftigt. Versuchen Sie es noch einmal.',
    CheckpointUnusable:
      'Dieser gespeicherte Stand ist nicht benutzbar. Versuchen Sie einen früheren Sicherungspunkt.',
    DiskFull: 'Der Datenträger ist voll. Schaffen Sie Platz und versuchen Sie es noch einmal.',
    EngineUnavailable: 'Maschinen können gerade nicht laufen.',
    Internal:
      'In ForeverVM ist etwas schiefgegangen. Ihre Maschinen sind nicht betroffen. Versuchen Sie es noch einmal.',
    MachineNotFound: 'Diese Maschine gibt es nicht.',
    NameTaken: 'Eine andere Maschine hat diesen Namen. Wählen Sie einen anderen.',
    ShuttingDown:
      'ForeverVM wird gerade beendet. Ihre Maschinen sind gespeichert. Versuchen Sie es, wenn es wieder läuft.',
    TooLarge: 'Das ist zu groß für eine Anfrage.',
    UnknownMaker:
      'Dateien dieses Erstellers haben Sie noch nie geöffnet. Prüfen Sie, wer die Datei geschickt hat.',
  },
};
