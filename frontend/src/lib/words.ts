import type {
  Answer,
  AppState,
  Contact,
  Instruction,
  Machine,
  MachineState,
  NetworkMode,
} from './api/types';

/** What the page says, in one place. Plain words: the reader need not know what a process or a checkpoint file is. */
export const words = {
  product: 'ForeverVM',
  you: 'You',

  states: {
    swapped: 'Asleep',
    waking: 'Waking up',
    idle: 'Ready',
    running: 'Running',
    swapping: 'Falling asleep',
    deleted: 'In the bin',
  } satisfies Record<MachineState, string>,

  stateHints: {
    swapped:
      'Everything is saved. It wakes by itself with the next code and uses no memory until then.',
    waking: 'Its saved state is being loaded.',
    idle: 'It is in memory and waits for code.',
    running: 'It is running code now.',
    swapping: 'Its state is being saved, then its memory is freed.',
    deleted: 'It can be brought back from the bin.',
  } satisfies Record<MachineState, string>,

  list: {
    title: 'Machines',
    search: 'Search machines',
    create: 'New machine',
    none: 'No machine yet',
    noneHint: 'Machines appear here as soon as you or an AI app makes one.',
    noMatch: 'Nothing matches',
    clearSearch: 'Clear search',
    bin: 'Bin',
    backToMachines: 'Back to machines',
    binEmpty: 'The bin is empty',
    binHint: 'Deleted machines stay here for some days, seven unless you set it otherwise.',
    restore: 'Bring back',
    purge: 'Delete for good',
    show: 'Show machines',
    hide: 'Hide machines',
    which: 'Which machines',
    shown: { all: 'All', awake: 'Awake', asleep: 'Asleep', archived: 'Archived' },
    noneOfThese: 'There are none of these.',
    group: 'Group by who uses them',
    unused: 'Not used from here yet',
    history: 'In the history',
    settings: 'Settings',
    createWith: 'New machine with…',
  },

  pack: {
    title: 'Save the whole machine as a file',
    text: 'For another computer, or for somebody else. The file has everything: variables, files and the work so far. It is opened in ForeverVM, in the same version as this one.',
    warning:
      'It holds whatever this machine held, keys and passwords included, and who has the file can read it. Give it only to those who may have them.',
    confirm: 'Save the file',
    coming: (size: string) => `${size} so far`,
  },

  unpack: {
    menu: 'Open a machine from a file…',
    drop: 'Drop a machine’s file to open it',
    one: 'One file at a time, please.',
    title: 'Open a machine from a file',
    looking: 'Looking into the file…',
    machine: 'Machine',
    saved: 'Saved',
    savedBy: (when: string, program: string) => `${when}, by ForeverVM ${program}`,
    work: 'Work',
    steps: (n: number, size: string) =>
      `${n === 1 ? '1 step' : `${n.toLocaleString()} steps`}, ${size} of memory and files`,
    tags: 'Tags',
    maker: 'Made by',
    makers: {
      own: 'This computer',
      accepted: 'Somebody whose files you have opened before',
      unknown: 'Somebody whose files you have not opened before',
    },
    fingerprint: 'Key',
    warning:
      'What is in this file may do in its machine whatever its maker wanted. Open it only if you know who sent it to you. To be sure, ask them which key they see when they open it themselves.',
    who: 'Who made it?',
    whoHint: 'Their next file is opened without this question.',
    network: 'The machine has no network until you allow it.',
    confirm: 'Open it',
    trust: 'I know them: open it',
    sending: 'Opening the file',
  },

  create: {
    title: 'New machine',
    memory: 'Memory limit, in MB',
    memoryHint: 'What Python may use; 2048 unless you say otherwise',
    badMemory: 'The memory limit is a whole number of megabytes.',
    engine: 'Where it runs',
    confirm: 'Make it',
  },

  palette: {
    title: 'Find a machine or a command',
    placeholder: 'Type to find a machine or a command',
    machines: 'Machines',
    commands: 'Commands',
  },

  settings: {
    title: 'Settings',
    appearance: 'Appearance',
    theme: 'Colours',
    themes: { system: 'As the system has it', light: 'Light', dark: 'Dark' },
    contrast: 'Contrast',
    contrasts: { system: 'As the system has it', more: 'High' },
    storage: 'Storage',
    room: (used: string, free: string) =>
      `Machines and their history take ${used}; ${free} are free on the disk.`,
    folder: 'All of it is in',
    fields: {
      idle_swap: {
        label: 'Put idle machines to sleep after',
        hint: 'Such as 10m; they wake by themselves',
      },
      keep_all_checkpoints: {
        label: 'Keep every checkpoint for',
        hint: 'Such as 1d; 0s keeps only the latest of each machine',
      },
      keep_hourly_checkpoints: { label: 'Then one an hour, up to', hint: 'Such as 7d' },
      keep_daily_checkpoints: { label: 'Then one a day, up to', hint: 'Such as 90d' },
      bin_retention: { label: 'Empty the bin after', hint: 'Such as 7d' },
    },
    budget: 'Room for older checkpoints, in MB',
    budgetHint: '0 means 10 GB, or a tenth of the free room where that is less',
    badBudget: 'The room for checkpoints is a whole number of megabytes.',
    saved: 'Saved.',
    engines: 'Engines',
    enginesText: 'An engine is where machines run.',
    usual: 'used unless a machine says otherwise',
    works: 'It works.',
    diagnostics: 'Diagnostics',
    diagnosticsText:
      'For whoever helps you: versions, settings, how engines and AI apps stand. There is no code, no output, no password or token in it; look through it before you pass it on.',
    collect: 'Collect it',
  },

  updates: {
    title: 'Updates',
    runs: (version: string) => `This is version ${version}.`,
    newest: (when: string) => `There was nothing newer ${when}.`,
    newer: (version: string) => `Version ${version} is there`,
    what: 'Your machines are saved for it, and go on afterwards. Your computer may ask for the administrator’s password.',
    install: (size: string) => `Download ${size} and install`,
    installReady: 'Install',
    loading: (here: string, size: string) => `Downloading: ${here} of ${size}`,
    installing: 'Installing. Your computer may ask for the administrator’s password…',
    byHand:
      'There is no package of it for this computer: install it in the way in which you got this one.',
    check: 'Look for newer versions once a day',
    look: 'Look now',
    installed: (version: string) =>
      `ForeverVM ${version} is installed. Open this window or page anew to see what is new in it.`,
  },

  welcome: {
    title: 'Your AI can run code here, safely',
    text: 'A machine is a sandbox on your own computer. Code that runs in it cannot see your files or your network, only the public internet. What it computes stays there for as long as you want, and you can watch every step.',
    ask: 'Ask your AI app',
    askText:
      'Once Claude Desktop or another AI app is connected, ask it to analyse something. The machine it makes appears at the left, and you see its work live.',
    tryTitle: 'Or try it yourself',
    tryText: 'Make a machine and run a short example that draws a chart. Nothing can go wrong.',
    tryButton: 'Run the example',
    newButton: 'Empty machine',
    step: (n: number, of: number) => `Step ${n} of ${of}`,
    next: 'Next',
    back: 'Back',
    skip: 'Skip',
    promises: [
      'Nothing is lost: variables and files are kept, also when the computer is switched off.',
      'You see everything that runs, and can stop it or go back to how things were.',
      'It runs on this computer: you need no account, and no server.',
    ],
    where: 'Where machines run',
    whereText: 'This computer has what machines need. There is nothing to do.',
    nowhereText:
      'Machines cannot run here yet. What is missing stands below, with what to do about it.',
    engineUsed: 'It works, and new machines run in it.',
    engineWorks: 'It works.',
    looking: 'Looking…',
    connected: (names: string) => `Connected: ${names}.`,
    found: (names: string) => `Found on this computer: ${names}.`,
    atLogin: 'Start ForeverVM when I log in to this computer',
    chooseTitle: 'Choose a machine',
    chooseText: 'Its work so far is shown here, and you can run code in it.',
  },

  apps: {
    title: 'AI apps',
    connectOne: 'Connect an AI app',
    ailing: 'AI apps: one has lost its connection',
    text: 'A connected app can make machines and run Python in them. One entry is added to its settings; nothing else in them changes, and disconnecting gives back what was there.',
    none: 'No AI app that ForeverVM knows was found on this computer. If you have one, start it once.',
    elsewhere: (names: string) => `Not found on this computer: ${names}.`,
    states: {
      connected: 'Connected',
      extension: 'Connected by its extension',
      'not connected': 'Not connected',
      outdated: 'Connected to a program that is no longer this one, or switched off',
      wiped: 'It has lost its connection: the app wrote its settings anew',
      official: 'Connected to the hosted service, not to this computer',
      taken: 'Another server in its settings has our name',
      broken: 'Its settings cannot be read',
    } satisfies Record<AppState, string>,
    verbs: { connect: 'Connect', disconnect: 'Disconnect', repair: 'Repair' },
    planTitle: {
      connect: (name: string) => `Connect ${name}?`,
      disconnect: (name: string) => `Disconnect ${name}?`,
      repair: (name: string) => `Repair the connection of ${name}?`,
    },
    planText: {
      connect:
        'This is what changes in its settings. What belongs to others is shown without its values. A copy is kept.',
      disconnect: 'This is what changes in its settings. A copy is kept.',
      repair:
        'This is what changes in its settings. What belongs to others is shown without its values. A copy is kept.',
    },
    difference: 'What changes',
    replacesOfficial:
      'Its code will run on this computer, no longer at forevervm.com. Disconnecting puts that connection back.',
    replacesOther: 'The other server of that name gives way. Disconnecting puts it back.',
    done: 'Done.',
    atStart: 'It sees the change when it next starts.',
    runs: (name: string, next: string) => `${name} runs and does not know of it yet. ${next}`,
    restarts: (name: string) => `Quit ${name} for the change, and start it again`,
    restartsWhy:
      'It sees the change only when it starts, and may undo it when it quits. What you have typed there and not sent is lost.',
    restarted: (name: string) => `${name} was quit and started again.`,
    offer: { link: 'Let it ask me', extension: 'Install as an extension' },
    extensionStays: 'Should that happen again: an extension is not lost that way.',
    linkOpened: (name: string) => `${name} asks you now whether to add ForeverVM.`,
    extensionOpened: (name: string, file: string) =>
      `${name} asks you now whether to install the extension. If another program opens it, drag the file ${file} into the page of extensions in ${name}'s settings.`,
    neverSeen: 'Not heard from yet.',
    seen: (version: string, when: string, calls: string) =>
      `Heard from ${when}${version}, ${calls}`,
    version: 'version',
    call: 'tool call',
    calls: 'tool calls',
    test: 'Test',
    works: (ms: number) => `It works: what the app starts answered after ${Math.round(ms)} ms.`,
    backups: 'Earlier settings',
    backupsTitle: (name: string) => `Earlier settings of ${name}`,
    backupsText: 'Copies from before each change. What is there now is copied first.',
    noBackups: 'There are no copies yet; one is kept before each change.',
    restore: 'Put back',
    back: 'Back',
  },

  hosted: {
    title: 'Hosted service',
    text: 'With a ForeverVM account, machines that run at the hosted service are in the same list as those on this computer. You need none for machines on this computer.',
    sent: 'What you or an AI app runs on a hosted machine is sent to the service: the code, and what it is given. Nothing of the machines on this computer is.',
    account: 'Account',
    accountName: 'Name of the account',
    nameHint: '3 to 16 letters, digits, underscores and hyphens.',
    server: 'Service',
    otherServer: 'Another address of the service',
    token: 'Token',
    tokenHint: 'It came by e-mail. It is kept in the keyring of your computer, and nowhere else.',
    email: 'E-mail address',
    signIn: 'Sign in',
    signOut: 'Sign out',
    signUp: 'Get an account',
    signedUp: (email: string) => `Done. The token is on its way to ${email}; sign in with it here.`,
    noAccount: 'I have no account',
    haveToken: 'I have a token',
    fromEnvironment:
      'The variable FOREVERVM_TOKEN, where ForeverVM is started, says who is signed in.',
    official: (path: string, token: string) =>
      `The official command line keeps a token (${token}) in ${path}, where every program can read it.`,
    takeOver: 'Sign in with it',
    removeText: (path: string) =>
      `The token is in the keyring now. It still is in ${path}, too, where every program can read it.`,
    remove: 'Delete that file',
    others: 'Other accounts whose tokens are kept',
    use: 'Use',
    machine: 'Hosted',
    machineHint:
      'It runs at the hosted service. Only what is sent from this computer is shown here.',
    less: 'It runs at the hosted service, which has no checkpoints, copies, files and variables to show. Machines on this computer have them.',
  },

  machine: {
    empty: 'Nothing has run here yet',
    emptyText: 'Write Python below and press Shift+Enter, or let your AI app use this machine.',
    start: 'The beginning',
    forkedFrom: (name: string) => `Made from ${name}`,
    loadEarlier: 'Show earlier steps',
    latest: 'Jump to the latest',
    stop: 'Stop',
    stopHint: 'Stop the code that is running',
    save: 'Save a checkpoint',
    saveShort: 'Checkpoint',
    more: 'More for this machine',
    details: 'Name and tags…',
    sleep: 'Put to sleep',
    wake: 'Wake up',
    copy: 'New machine from here…',
    archive: 'Archive',
    unarchive: 'Back from the archive',
    exports: {
      ipynb: 'Export as a Jupyter notebook',
      html: 'Export as a web page',
      md: 'Export as Markdown',
      py: 'Export the code',
    },
    pack: 'Save as a file…',
    share: 'Share a folder…',
    sentenceCopy: 'Copy a sentence to go on with it',
    sentence: (name: string, title: string | undefined) =>
      `Go on in the ForeverVM machine ${name}${title ? ` (“${title}”)` : ''}: everything from before is still there. Look at its variables first.`,
    sentenceCopied: 'Copied. Paste it to your AI app.',
    remove: 'Delete',
    removed: (name: string) => `${name} was moved to the bin.`,
    undo: 'Undo',
    notFound: 'This machine does not exist any more.',
    loadFailed: 'The work so far could not be loaded.',
    retry: 'Try again',
    history: 'Work so far',
  },

  shared: {
    title: 'Share a folder',
    text: 'Code in this machine sees the folder as it is at each moment, at /mnt/shared. What it reads there it can send to whatever the machine may reach (see Network). The folder is never part of a checkpoint, and copies of the machine do not see it.',
    folder: 'Folder',
    folderHint: 'Its whole path on the computer that ForeverVM runs on',
    choose: 'Choose…',
    chooseTitle: 'Which folder may the machine see?',
    writable: 'Code may also change it',
    writableText:
      'It can then change, add and delete files in the folder. Nothing here brings them back. You are told when files come up there that programs on your computer, like git or editors, act on by themselves.',
    awake:
      'The machine is saved for it and comes back: files that it has open in a shared folder may have to be opened again.',
    confirm: 'Share it',
    sees: 'This machine sees your folder',
    changes: 'This machine sees and may change your folder',
    change: 'Change…',
    stop: 'Stop sharing',
  },

  files: {
    title: 'Files',
    asleep: 'This machine is asleep.',
    wake: 'Wake it and show its files',
    home: 'Files',
    place: 'Where you are',
    back: 'Back to the list',
    refresh: 'Look again',
    newFolder: 'New folder',
    folderName: 'What is it called?',
    make: 'Make it',
    upload: 'Put files into this folder',
    uploadShort: 'Add files',
    drop: 'Drop files to put them here',
    noFolders: 'Folders cannot be dropped here. “forevervm cp” copies whole folders.',
    sending: (name: string) => `${name} is on its way`,
    stopSending: (name: string) => `Stop sending ${name}`,
    stopSaving: (name: string) => `Stop saving ${name}`,
    save: 'Save on this computer',
    download: (name: string) => `Save ${name} on this computer`,
    delete: 'Delete',
    remove: (name: string) => `Delete ${name}`,
    removeTitle: (name: string) => `Delete ${name}?`,
    removeText: 'The machine loses this file. Earlier checkpoints still have it.',
    removeFolderText:
      'The machine loses this folder and everything in it. Earlier checkpoints still have it.',
    loading: 'Loading…',
    retry: 'Try again',
    emptyHome: 'Nothing here yet. Drop files here, or let code write some.',
    empty: 'This folder is empty.',
    more: 'There are more files than are shown here.',
    noPreview: 'This kind of file is not shown here. You can save it on this computer.',
    picture: (name: string) => `The picture ${name}`,
    cut: (size: string) => `This is the beginning; the whole file has ${size}.`,
    disk: 'How full the machine’s disk is',
    diskHint: 'What this machine has written, and the most that it may take',
    used: (used: string, size: string) => `${used} of ${size} used`,
    inbox: (folder: string) =>
      `What you put into ${folder} is in every machine’s inbox when code looks there. What code puts into the outbox comes back to Results in that folder.`,
    folder: 'Folder',
    kinds: { file: 'File', folder: 'Folder', link: 'Link', other: 'Neither file nor folder' },
  },

  network: {
    title: 'Network',
    reaches: 'What this machine may reach',
    standard: 'What machines may reach',
    standardText: 'Holds for every machine that has no rule of its own.',
    modes: {
      default: 'As the settings say',
      public: 'The public internet',
      ask: 'What you allow when it asks',
      list: 'Only the hosts listed here',
      off: 'Nothing',
    } satisfies Record<NetworkMode, string>,
    asStandard: (mode: string) => `As the settings say: ${mode.toLowerCase()}`,
    never:
      'Your computer and the devices around it are reached only where you list them by name or address.',
    upstream: (proxy: string) =>
      `This computer reaches the internet by the proxy ${proxy}, which finds out by itself where names lead: rules for names hold, and addresses behind them are not checked.`,
    hosts: 'Listed hosts',
    hostsHint: 'One per line: example.com, *.example.com, 192.168.1.5:5432',
    approved: 'Allowed when asked',
    add: 'List a host',
    addHint: 'example.com, *.example.com or 192.168.1.5:5432',
    addShort: 'List it',
    remove: (host: string) => `Take ${host} off the list`,
    contacts: 'What it reached, or tried to',
    none: 'It has reached nothing yet, and has not tried.',
    earlier: 'Show earlier ones',
    states: {
      asking: 'Waits for you',
      open: 'Open',
      closed: 'Reached',
      denied: 'Not allowed',
      failed: 'Not reached',
    } satisfies Record<Contact['state'], string>,
    moved: (sent: string, received: string) => `${sent} out, ${received} in`,
    question: (machine: string) => `${machine} wants to reach`,
    more: (n: number) => (n === 1 ? 'One more question waits.' : `${n} more questions wait.`),
    answers: {
      deny: 'No',
      once: 'For this step',
      machine: 'Always, for this machine',
      always: 'Always, for every machine',
    } satisfies Record<Answer, string>,
  },

  step: {
    number: (seq: number) => `Step ${seq + 1}`,
    code: 'Code',
    done: 'Done',
    queued: 'Waiting its turn',
    running: 'Running',
    cancelled: 'Cancelled before it ran',
    failed: 'Failed',
    interrupted: 'Stopped',
    timeout: 'Took too long and was stopped',
    undone: 'Undone',
    undoneHint: 'The machine went back to an earlier state; what this step did is no longer in it.',
    cancel: 'Cancel',
    copyCode: 'Copy code',
    copyOutput: 'Copy result',
    copied: 'Copied',
    runAgain: 'Run again',
    traceback: 'What Python says',
    hiddenLines: (n: number) => `${n.toLocaleString()} more ${n === 1 ? 'line' : 'lines'}`,
    showAll: 'Show everything',
    showCode: (n: number) => `Show all ${n.toLocaleString()} lines`,
    showLess: 'Show less',
    gap: 'What it put out in between is not shown here.',
    omitted: (n: number) => `${n.toLocaleString()} parts in between are not shown`,
    outputLost: (size: string) => `${size} of output was too much to keep.`,
    background: 'Printed later, while nothing ran',
    loadFailed: 'The output could not be loaded.',
    retry: 'Try again',
    cutLine: (n: number) => `… ${n.toLocaleString()} more characters`,
    interactive:
      'This is an interactive figure, a kind that is not shown here. Figures made with matplotlib and Plotly are.',
    figureData: 'The data of the figure',
    heldUp: 'This figure was not drawn to its end before, and may hold up the page.',
    drawAnyway: 'Draw it all the same',
    notShown: 'This kind of output cannot be shown here.',
    tooMuch:
      'This table or page is too big to show without holding up the window. Ask for a smaller part of it, such as its first rows.',
  },

  output: {
    title: 'Everything it printed',
    loading: 'Loading…',
    close: 'Close',
    copy: 'Copy',
    save: 'Save as a file',
    savedTo: (path: string) => `Saved as ${path}`,
    partly:
      'This is too much to show at once: you see the beginning and the end. The file has it all.',
    between: (n: number) =>
      `… ${n.toLocaleString()} ${n === 1 ? 'line is' : 'lines are'} not shown here …`,
    lines: (n: number) => `${n.toLocaleString()} ${n === 1 ? 'line' : 'lines'}`,
    saveTable: 'Save this table as CSV',
    find: 'Find',
    found: (n: number, of: number) => `${n.toLocaleString()} of ${of.toLocaleString()}`,
    picture: 'Picture made by this step',
    rich: 'Table or formatted output of this step',
    pictureFailed: 'The picture could not be loaded.',
    pictureTooMuch:
      'This drawing has too many parts to show without holding up the window. Ask for it as a PNG.',
    enlarge: 'Enlarge the picture',
    figureWaits: 'This figure is drawn when it comes into view.',
    saveFigure: (format: string) => `Save this figure as ${format.toUpperCase()}`,
    noPicture: 'There is no picture of this figure yet, or none that can be saved.',
    hugePicture: 'The picture of this figure is too large to be saved.',
    slowPicture: 'The figure gave no picture within 20 seconds. It may hold too much.',
  },

  editor: {
    label: 'Python code to run in this machine',
    placeholder: 'Write Python, then Shift+Enter',
    run: 'Run',
    queue: 'Run next',
    hint: 'Shift+Enter',
    busy: 'The machine could not tell in time: it is busy, or what tells it takes too long. Try again.',
    unknown: 'Nothing is known of this name yet.',
  },

  checkpoint: {
    title: 'Save a checkpoint',
    text: 'A checkpoint keeps everything as it is now: variables and files. You can come back to it whenever you like.',
    label: 'What should it be called? (optional)',
    placeholder: 'Before cleaning the data',
    save: 'Save',
    saved: 'Checkpoint saved.',
    kept: 'The checkpoint is kept.',
    unnamed: 'Checkpoint',
    rewind: 'Go back to here',
    fork: 'New machine from here',
    remove: 'Delete this checkpoint',
  },

  side: {
    title: 'About this machine',
    show: 'Show plots, variables and more',
    hide: 'Hide the panel',
    resize: 'Width of the panel',
    plots: 'Plots',
    variables: 'Variables',
    checkpoints: 'Checkpoints',
    about: 'About',
  },

  plots: {
    none: 'What code draws here is collected in this place: plots and pictures, each with a way back to its step.',
    failed: 'The plots could not be loaded.',
    previous: 'Previous plot',
    next: 'Next plot',
    count: (n: number, of: number, more: boolean) => `${n} of ${of}${more ? '+' : ''}`,
    earlier: 'Earlier',
    strip: 'All plots',
    thumbnail: (seq: number) => `Plot of step ${seq + 1}`,
    copy: 'Copy the picture',
    copied: 'The picture was copied.',
    savePng: 'Save as PNG',
    saveSvg: 'Save as SVG, which stays sharp at any size',
  },

  variables: {
    search: 'Search variables',
    none: 'No variables yet. They appear here as soon as code makes some.',
    changed: 'New or changed by the last step',
    old: 'Python is busy: this is how it was before.',
    asleep: 'The machine is asleep: this is how it was.',
    asleepAndUnknown:
      'The machine is asleep. Its variables are all there; to see them here it has to be awake.',
    kinds: { function: 'function', class: 'class' } as Record<string, string | undefined>,
  },

  table: {
    text: (type: string, rows: number, columns: number) =>
      `${type}, ${rows.toLocaleString()} × ${columns.toLocaleString()}. Only what you look at is fetched; the machine sorts and filters.`,
    open: 'Open as a table',
    formats: { csv: 'CSV', xlsx: 'Excel' },
    index: 'Index',
    sort: (column: string) => `Sort by ${column}`,
    filter: (column: string) => `Filter ${column}`,
    filterHint: 'text, > 5, != x',
    first: 'First rows',
    previous: 'Previous rows',
    next: 'Next rows',
    last: 'Last rows',
    rows: (from: number, n: number, of: number, all: number) =>
      `${n === 0 ? 0 : (from + 1).toLocaleString()}–${(from + n).toLocaleString()} of ${of.toLocaleString()}${of === all ? '' : ` (${all.toLocaleString()} in all)`}`,
    columns: (from: number, n: number, of: number) =>
      `Columns ${(from + 1).toLocaleString()}–${(from + n).toLocaleString()} of ${of.toLocaleString()}`,
    columnsBefore: 'Columns before',
    columnsAfter: 'Columns after',
    empty: '–',
    saveHint: 'A step writes the whole table into a file in the machine, and you get a copy',
    notSaved: (seq: number) => `The table could not be written: step ${seq + 1} says why.`,
    busy: 'The machine could not answer within a second: it is busy, or the table is too large to be sorted or filtered just to be looked at. Try again, or do it in code.',
  },

  checkpoints: {
    text: 'States that this machine can go back to. They are made by themselves after each piece of work, and thinned out with age; those that you keep stay. What you leave by going back stays as a branch.',
    none: 'There are none yet.',
    after: (seq: number) => (seq < 0 ? 'The beginning' : `After step ${seq + 1}`),
    keep: 'Keep…',
    rename: 'Rename…',
    show: 'Show its step',
    isKept: 'Kept until you delete it',
    passes: 'Made by itself; goes with time',
  },

  keep: {
    title: 'Keep this checkpoint',
    text: 'It stays until you delete it.',
    confirm: 'Keep',
  },

  about: {
    memory: 'Memory',
    memoryLine: 'Memory over time',
    cpu: 'Processor',
    cpuLine: 'Use of the processor over time',
    since: 'Since this page was opened, at most a quarter of an hour.',
    of: (used: string, limit: string) => `${limit}, ${used} of it used`,
    percent: (cpu: number) => `${Math.round(cpu * 100)} % of one`,
    none: 'None: it is asleep',
    name: 'Name',
    state: 'State',
    engine: 'Runs',
    image: 'Has',
    images: {
      base: 'Python with the usual libraries',
      ml: 'Python with the usual libraries, torch and transformers',
    } as Record<string, string | undefined>,
    steps: 'Steps',
    made: 'Made',
    active: 'Last used',
    user: 'Used by',
    expires: 'Expires',
    parent: 'Made from',
    limit: 'Memory limit',
    tags: 'Tags',
    connect: 'From your own programs',
    connectText: 'With one of these you reach this very machine.',
    copy: 'Copy',
    copied: 'Copied.',
  },

  rewind: {
    title: 'Go back to this checkpoint?',
    branchTitle: 'Go back to this branch?',
    text: (later: number) =>
      later === 0
        ? 'Variables and files return to how they were then.'
        : `Variables and files return to how they were then. What the ${later === 1 ? 'step' : `${later} steps`} after it did is undone; you can still read ${later === 1 ? 'it' : 'them'} here.`,
    kept: 'What you leave stays as a branch: you can go back to it, too.',
    toBranch: (name: string) => `Variables and files become what they were on “${name}”.`,
    keepAs: 'Name of the branch that you leave (optional)',
    keepAsHint: 'Without a name it is called after the time',
    confirm: 'Go back',
    done: 'The machine is back where you wanted it.',
    undo: 'Undo',
  },

  compare: {
    title: 'What differs',
    now: 'Compare with now',
    other: 'Compare with another…',
    this: 'Compare with this one',
    choose: (name: string) => `Choose what to compare “${name}” with.`,
    present: 'Now',
    text: (from: string, to: string) => `From “${from}” to “${to}”.`,
    looking:
      'Looking at both states. They are brought into memory for a moment, without a network…',
    nothing: 'Nothing differs.',
    variables: 'Variables',
    files: 'Files',
    onlyFrom: (name: string) => `Steps that only “${name}” has`,
    onlyTo: (name: string) => `Steps that only “${name}” has`,
    kinds: { added: 'Added', removed: 'Removed', changed: 'Changed' },
    written: 'Written',
    writtenText: 'It was written and has the same size; it is too large to say more',
    before: 'Before',
    after: 'After',
    step: (seq: number) => `Step ${seq + 1}`,
    unsure: (names: string, n: number) =>
      `${n === 1 ? 'This looks' : 'These look'} the same and could not be compared completely: ${names}`,
    partial: 'There are more variables, files or folders than were looked at.',
    more: (n: number) => `and ${n.toLocaleString()} more`,
  },

  branch: {
    title: 'Branches',
    others: 'Checkpoints',
    mark: 'Branch',
    on: (name: string) => `You are on the branch “${name}”.`,
    own: (steps: number) =>
      steps === 0 ? 'no steps of its own' : `${steps} ${steps === 1 ? 'step' : 'steps'} of its own`,
    left: (when: string) => `left ${when}`,
    back: 'Go back to it',
    rename: 'Rename the branch…',
    remove: 'Delete this branch',
    renameTitle: 'Name of the branch',
    renameText: 'With a name of your own it stays until you delete it.',
    label: 'Name',
    save: 'Rename',
    explain: 'What you left when you went back; nothing of it is lost',
  },

  fork: {
    title: 'New machine from here',
    text: 'A second machine starts with the same variables and files. The first one stays as it is.',
    name: 'Title (optional)',
    confirm: 'Make it',
  },

  details: {
    title: 'Name and tags',
    titleLabel: 'Title',
    titleHint: 'What it is for, in your own words',
    nameLabel: 'Name',
    nameHint: 'Used by programs and AI apps; old names go on working',
    tagsLabel: 'Tags',
    tagsHint: 'One per line, like project=sales',
    save: 'Save',
    badTag: (line: string) => `“${line}” is not a tag: write it as key=value.`,
  },

  purge: {
    title: (name: string) => `Delete ${name} for good?`,
    text: 'Its history, variables and files are removed from this computer. This cannot be undone.',
    confirm: 'Delete for good',
  },

  status: {
    engine: (name: string) =>
      ({
        native: 'On this computer',
        docker: 'On this computer, in Docker',
        hosted: 'At the hosted service',
      })[name] ?? name,
    noEngine: 'Machines cannot run yet',
    lookAgain: 'Start it, or look again',
    hostedInstead: 'Use the hosted service',
    running: (n: number) => (n === 0 ? 'Nothing is running' : `${n} running`),
    awake: (n: number) => `${n} awake`,
    memory: (size: string) => `${size} of memory`,
    offline: 'Connecting again…',
    details: 'What this means',
    notes: 'Some limits do not hold here',
  },

  locked: {
    title: 'This page needs a key',
    text: 'It shows what runs on your computer, so it opens only from there. Use the ForeverVM window, or run this in a terminal:',
    command: 'forevervm open',
    again: 'A link opens the page once. If yours was used already, ask for a new one.',
  },

  failed: {
    title: 'ForeverVM cannot be reached',
    retry: 'Try again',
  },

  stranger:
    'Another program answers in place of ForeverVM, so nothing is sent to it. “forevervm open” opens the page where ForeverVM is now.',

  connecting: 'Starting…',
  cancel: 'Cancel',
  close: 'Close',
  messages: 'Messages',
  dismiss: 'Dismiss',

  errors: {
    unreachable: 'ForeverVM does not answer. It may be restarting; try again in a moment.',
    unexpected: (status: number) => `ForeverVM answered with an unexpected error (${status}).`,
    noAddress: 'This output has no address.',
    unreadable: 'The file cannot be read.',
  },
};

/** What a step is called when it did not simply succeed; null when it did. */
export function outcome(instruction: Instruction): string | null {
  switch (instruction.status) {
    case 'queued':
      return words.step.queued;
    case 'running':
      return words.step.running;
    case 'cancelled':
      return words.step.cancelled;
    case 'error':
      if (instruction.error_name === 'KeyboardInterrupt') return words.step.interrupted;
      if (instruction.error_name === 'Timeout') return words.step.timeout;
      return words.step.failed;
    case 'ok':
      return null;
  }
}

/** Who ran a step. This page's own are the reader's. */
export function author(client: Instruction['client']): string {
  const { name } = client;
  if (name === 'window' || name === 'browser') return words.you;
  if (name === '') return 'A program';
  if (name === 'forevervm CLI') return 'Command line';
  const sdk = /^(?:forevervm-sdk[ -]?)?(python|javascript|rust)(?: \(\w+\))?$/i.exec(name)?.[1];
  if (sdk) return `${sdk.charAt(0).toUpperCase()}${sdk.slice(1).toLowerCase()} program`;
  return name;
}

/** A machine's title, what its first code says that it is for, or its name. */
export function title(machine: Pick<Machine, 'name' | 'title' | 'derived_title'>): string {
  return [machine.title, machine.derived_title].find(Boolean) ?? machine.name;
}
