import type {
  ActKind,
  Answer,
  AppState,
  Contact,
  Grant,
  NetworkMode,
  RecordAction,
} from '../api/types';
import type { ShownState } from '../shown';
import { number } from './locale';

/** The codes of the daemon's errors that each language explains. */
export type ErrorCode =
  | 'Busy'
  | 'CheckpointUnusable'
  | 'DiskFull'
  | 'EngineUnavailable'
  | 'Internal'
  | 'MachineNotFound'
  | 'NameTaken'
  | 'ShuttingDown'
  | 'TooLarge'
  | 'UnknownMaker';

/**
 * What the page says in English, from which the other languages are translated. Plain words: the
 * reader need not know what a process or a checkpoint file is.
 */
export const en = {
  product: 'ForeverVM',
  you: 'You',
  aProgram: 'A program',
  commandLine: 'Command line',
  programIn: (language: string) => `${language} program`,

  ago: {
    now: 'just now',
    minutes: (n: number) => `${n} min ago`,
    hours: (n: number) => `${n} h ago`,
    yesterday: 'yesterday',
    days: (n: number) => `${n} days ago`,
  },

  states: {
    paused: 'Paused',
    swapped: 'Asleep',
    waking: 'Waking up',
    idle: 'Ready',
    running: 'Running',
    swapping: 'Falling asleep',
    deleted: 'In the bin',
  } satisfies Record<ShownState, string>,

  stateHints: {
    paused: 'Its code is saved in the middle. Press Resume to go on.',
    swapped: 'Everything is saved. It uses no memory and wakes automatically for the next code.',
    waking: 'Its saved state is loading.',
    idle: 'It is in memory and waits for code.',
    running: 'It is running code now.',
    swapping: 'Its state is being saved, then its memory is freed.',
    deleted: 'You can bring it back from the bin.',
  } satisfies Record<ShownState, string>,

  list: {
    title: 'Machines',
    home: 'Start page',
    search: 'Search machines',
    create: 'New machine',
    none: 'No machine yet',
    noneHint: 'Machines appear here as soon as you or an AI app makes one.',
    failed: 'The last step failed',
    unseen: (steps: number) => `${steps} new ${steps === 1 ? 'step' : 'steps'}`,
    made: (app: string) => `${app} has made a machine.`,
    watch: 'Watch',
    working: (who: string) => `${who} is working`,
    noMatch: 'Nothing matches',
    clearSearch: 'Clear search',
    bin: 'Bin',
    backToMachines: 'Back to machines',
    binEmpty: 'The bin is empty',
    binHint: 'Deleted machines stay here for seven days, unless you change that in Settings.',
    restore: 'Bring back',
    purge: 'Delete for good',
    show: 'Show machines',
    hide: 'Hide machines',
    which: 'Which machines',
    shown: { all: 'All', awake: 'Awake', asleep: 'Asleep', archived: 'Archived' },
    noneOfThese: 'No machines match this filter.',
    group: 'Group by user',
    unused: 'Not used from here yet',
    history: 'In the history',
    settings: 'Settings',
    createWith: 'New machine with options…',
  },

  report: {
    title: 'Report of the results',
    about:
      'This is what others will see. Steps that failed, were undone or show nothing are left out.',
    long: 'This report is too long to show here. Save it and open it in your browser.',
    pdf: 'Save as PDF',
    page: 'Save as a web page',
    printing: 'Making the PDF…',
  },

  pack: {
    title: 'Save the whole machine as a file',
    text: 'For another computer or another person. The file holds everything: variables, files and the work so far. Open it in the same version of ForeverVM.',
    warning:
      'The file holds everything in this machine, including keys and passwords. Anyone who has the file can read them. Give it only to people who may have them.',
    keys: (steps: string) =>
      `These steps hold what looks like a key, and the file will, too: ${steps}.`,
    confirm: 'Save the file',
    coming: (size: string) => `${size} so far`,
  },

  unpack: {
    menu: 'Open a machine from a file…',
    drop: 'Drop a machine’s file to open it',
    one: 'One file at a time, please.',
    title: 'Open a machine from a file',
    looking: 'Reading the file…',
    machine: 'Machine',
    saved: 'Saved',
    savedBy: (when: string, program: string) => `${when}, by ForeverVM ${program}`,
    work: 'Work',
    steps: (n: number, size: string) =>
      `${n === 1 ? '1 step' : `${number(n)} steps`}, ${size} of memory and files`,
    tags: 'Tags',
    maker: 'Made by',
    makers: {
      own: 'This computer',
      accepted: 'Somebody whose files you have opened before',
      unknown: 'Somebody whose files you have not opened before',
    },
    fingerprint: 'Key',
    warning:
      'The maker of this file can run any code in its machine. Open it only if you know who sent it. To be sure, ask them which key they see when they open it.',
    who: 'Who made it?',
    whoHint: 'Their next file opens without this question.',
    network: 'The machine has no network until you allow it.',
    confirm: 'Open it',
    trust: 'Trust them and open',
    sending: 'Opening the file',
  },

  help: {
    title: 'Help',
    contents: 'Contents',
    search: 'Search the help',
    text: 'The text',
    more: 'Read more',
    /** Where the language is another: that the documents are in English. */
    onlyEnglish: '',
  },

  create: {
    title: 'New machine',
    memory: 'Memory limit',
    engine: 'Where it runs',
    confirm: 'Make it',
  },

  memory: {
    title: 'Memory limit',
    text: 'How much Python may use in this machine. The change takes effect at once.',
  },

  palette: {
    title: 'Find a machine or a command',
    placeholder: 'Type to find a machine or a command',
    groups: {
      machine: 'This machine',
      show: 'Show',
      machines: 'Machines',
      everywhere: 'ForeverVM',
    },
    search: (text: string) => `Search the work for “${text}”`,
  },

  settings: {
    keys: 'One-letter shortcuts',
    keysHint: 'Press N, C, J, K and others where you are not writing. Ctrl+K lists them.',
    title: 'Settings',
    appearance: 'Appearance',
    theme: 'Colors',
    themes: { system: 'System', light: 'Light', dark: 'Dark' },
    contrast: 'Contrast',
    contrasts: { system: 'System', more: 'High' },
    language: 'Language',
    systemLanguage: 'System',
    languageNext: 'The new language is shown from the next start.',
    reload: 'Reload now',
    storage: 'Storage',
    room: (used: string, free: string) => `ForeverVM uses ${used}. The disk has ${free} free.`,
    folder: 'Everything is in',
    fields: {
      idle_swap: 'Put idle machines to sleep after',
      keep_all_checkpoints: 'Keep every checkpoint for',
      keep_hourly_checkpoints: 'Then one an hour, up to',
      keep_daily_checkpoints: 'Then one a day, up to',
      bin_retention: 'Empty the bin after',
    },
    latestOnly: 'Only the latest of each machine',
    budget: 'Space for older checkpoints',
    budgetUsual: '10 GB, or a tenth of the free space if that is less',
    saved: 'Saved.',
    engines: 'Where machines run',
    enginesText: 'Machines run in one of these ways.',
    usual: 'default',
    works: 'Ready',
    vmMemory: 'The virtual machine’s memory, at most',
    vmMemoryUsual: 'half of this computer’s',
    vmDisk: 'The virtual machine’s disk, at most',
    vmHint: 'Both hold from its next start. Its disk is never made smaller.',
    diagnostics: 'Diagnostics',
    diagnosticsText:
      'For the person who helps you: versions, settings, and the state of engines and AI apps. It has no code, output, passwords or tokens. Read it before you share it.',
    collect: 'Collect',
  },

  space: {
    measuring: 'Measuring…',
    shared: 'Python and what machines share',
    packages: 'Downloaded packages',
    inBin: (name: string) => `${name} (in the bin)`,
    more: (n: number) => (n === 1 ? 'One more machine' : `${n} more machines`),
    free: 'Free up space…',
    choose: 'Delete for good',
    bin: 'The bin',
    checkpoints: (n: number) =>
      n === 0
        ? 'Automatic checkpoints'
        : n === 1
          ? 'One automatic checkpoint'
          : `${n} automatic checkpoints`,
    means: {
      bin: 'Deleted machines cannot be restored then.',
      checkpoints:
        'You can no longer go back to them. Machines, branches and the checkpoints that you made stay.',
      packages: 'A new machine downloads them again. Machines keep what they have.',
    },
    confirm: (size: string) => `Free about ${size}`,
    freed: (size: string) => `${size} freed.`,
  },

  place: {
    move: 'Move to another disk…',
    back: 'Move back to the usual place…',
    choose: 'Folder on another disk',
    text: 'Machines are saved first. Nothing can run until the move is done. The old files are removed only after the new ones were checked.',
    confirm: 'Move the files',
    confirmBack: 'Move the files back',
    saving: 'Saving the machines…',
    moving: (done: string, all: string) => `Moving: ${done} of ${all}`,
    moved: 'The files were moved.',
    away: 'ForeverVM is moving its files to another disk…',
  },

  computers: {
    title: 'Other computers',
    text: 'Machines can also run on another computer with Linux that you reach by ssh. Their code, variables and files are there. You see and use them here. Administrators of that computer can read them.',
    ssh: 'ForeverVM uses ssh as it is set up on this computer, with its configuration and keys, and stores only the address. ssh must get in without a password.',
    address: 'Add a computer',
    addressHint: 'As for ssh: user@host, or a name from your ssh configuration.',
    look: 'Look at it',
    looking: 'Looking…',
    facts: (address: string, system: string, processor: string, free: string) =>
      `${address} runs ${system} (${processor}) and has ${free} free.`,
    puts: (size: string, folder: string) =>
      `ForeverVM puts ${size} into ${folder} there and runs a first machine.`,
    isThere: (folder: string) => `This version of ForeverVM is in ${folder} there already.`,
    add: 'Set it up',
    preparing: 'Setting it up…',
    copying: (done: string, all: string) => `Copying: ${done} of ${all}`,
    meanwhile: 'This may take minutes. You can close the settings. Keep the window open.',
    added: (address: string, choice: string, menu: string) =>
      `A first machine ran there. “${choice}” in “${menu}” offers ${address} now.`,
    remove: 'Remove…',
    removeText: (address: string) =>
      `ForeverVM removes what it has put on ${address} and forgets the address. A computer with machines stays, also with machines in the bin. Delete them for good first, or move them to this computer.`,
    confirm: 'Remove it',
    removed: (address: string) => `${address} was removed.`,
    machineHint: 'It runs there. What it sends goes through this computer, by its network rules.',
  },

  backups: {
    title: 'Backups',
    text: 'Each night ForeverVM copies the machines that have changed into a folder. Choose one on another disk, or one that is synced. A copy holds everything in its machine, keys and passwords included.',
    folder: 'Folder',
    running: 'Backing up…',
    good: (when: string) => `Last good backup: ${when}.`,
    never: 'No backup yet.',
    keep: 'Copies of each machine',
    machines: 'Machines to back up',
    start: 'Back up now',
    other: 'Choose another folder…',
    stop: 'Stop backups',
    choose: 'Choose a folder…',
    use: 'Use this folder',
    restore:
      'To restore a machine, choose “Open a machine from a file…” and pick its copy. A copy opens in the version of ForeverVM that made it.',
  },

  updates: {
    title: 'Updates',
    runs: (version: string) => `This is version ${version}.`,
    newest: (when: string) => `You are up to date (checked ${when}).`,
    newer: (version: string) => `Version ${version} is available`,
    what: 'Your machines are saved first and continue afterwards. Your computer may ask for the administrator’s password.',
    install: (size: string) => `Download ${size} and install`,
    installReady: 'Install',
    loading: (here: string, size: string) => `Downloading: ${here} of ${size}`,
    installing: 'Installing. Your computer may ask for the administrator’s password…',
    byHand: 'It has no package for this computer. Install it the way you installed this version.',
    check: 'Check for updates once a day',
    look: 'Check now',
    installed: (version: string) =>
      `ForeverVM ${version} is installed. Reload to use the new version.`,
  },

  welcome: {
    title: 'Your AI can run code here, safely',
    text: 'A machine is a closed-off workspace on your own computer. Code that runs in it cannot see your files or your network, only the public internet. What it computes stays there for as long as you want, and you can watch every step.',
    ask: 'Ask your AI app',
    askText:
      'Once Claude Desktop or another AI app is connected, ask it to analyze something. Its machine appears on the left, and you see its work live.',
    tryTitle: 'Or try it yourself',
    tryText: 'Make a machine and run a short example that draws a chart. Nothing can go wrong.',
    tryButton: 'Run the example',
    newButton: 'Empty machine',
    step: (n: number, of: number) => `Step ${n} of ${of}`,
    next: 'Next',
    back: 'Back',
    skip: 'Skip',
    promises: [
      'Nothing is lost: variables and files stay, even when the computer is off.',
      'You see everything that runs. You can stop it or go back to an earlier state.',
      'It runs on this computer. You need no account and no server.',
    ],
    where: 'Where machines run',
    whereText: 'This computer has everything that machines need.',
    nowhereText: 'Machines cannot run here yet. One of these ways is enough:',
    preparingText: 'This computer is being prepared for machines. You need not do anything.',
    engineUsed: 'Ready. New machines run here.',
    engineWorks: 'Ready',
    looking: 'Checking…',
    connected: (names: string) => `Connected: ${names}.`,
    found: (names: string) => `Found on this computer: ${names}.`,
    atLogin: 'Start ForeverVM when I log in to this computer',
    recent: 'Recent machines',
    begin: 'How do you want to begin?',
  },

  first: {
    ask: (names: string) => `Start ${names} and ask:`,
    askMore: (names: string) => `Ask ${names}, for example:`,
    prompt: 'With ForeverVM, draw the first hundred primes.',
    prompts: [
      'With ForeverVM, analyze the spreadsheet that I put into the folder ForeverVM.',
      'With ForeverVM, make a chart of what changed most in my data.',
      'With ForeverVM, clean up my list of addresses and remove duplicates.',
    ],
    open: (name: string) => `Open in ${name}`,
    copy: 'Copy',
    waiting: (names: string) => `Waiting for ${names}…`,
    here: (names: string) => `${names} is here.`,
  },

  apps: {
    title: 'AI apps',
    connectOne: 'Connect an AI app',
    ailing: 'AI apps: one is disconnected',
    text: 'A connected app can make machines and run Python in them. ForeverVM adds one entry to its settings and changes nothing else. Disconnecting restores what was there.',
    none: 'ForeverVM found no supported AI app on this computer. If you have one, start it once.',
    elsewhere: (names: string) => `Not found on this computer: ${names}.`,
    states: {
      connected: 'Connected',
      extension: 'Connected by its extension',
      'not connected': 'Not connected',
      outdated: 'Switched off, or connected to a different program',
      unfinished: 'Its extension was not installed',
      wiped: 'Disconnected: the app overwrote its settings',
      official: 'Connected to the hosted service, not to this computer',
      taken: 'Another server in its settings has the same name',
      broken: 'Its settings cannot be read',
    } satisfies Record<AppState, string>,
    verbs: { connect: 'Connect', disconnect: 'Disconnect', repair: 'Repair' },
    planTitle: {
      connect: (name: string) => `Connect ${name}?`,
      disconnect: (name: string) => `Disconnect ${name}?`,
      repair: (name: string) => `Repair the connection of ${name}?`,
    },
    planText: {
      connect: 'ForeverVM adds one entry to its settings and keeps a copy of them.',
      disconnect: 'ForeverVM removes its entry from the settings and keeps a copy of them.',
      repair: 'ForeverVM adds its entry to the settings again and keeps a copy of them.',
    },
    hidden: 'Values of other entries are hidden.',
    difference: 'What changes',
    replacesOfficial:
      'Its code will run on this computer instead of at forevervm.com. Disconnecting restores that connection.',
    replacesOther:
      'This replaces the existing server with the same name. Disconnecting restores it.',
    done: 'Done.',
    atStart: 'The change takes effect when the app next starts.',
    runs: (name: string, next: string) => `${name} is running without the change. ${next}`,
    restarts: (name: string) => `Restart ${name} to apply the change`,
    restartsWhy:
      'It reads its settings only when it starts, and may overwrite them when it quits. Unsent text in it is lost.',
    entryInstead:
      'To connect it another way, press Repair: ForeverVM adds an entry to its settings.',
    skill: 'Also add a skill',
    skillWhy:
      'A skill is a file that tells the app when and how to use machines. Disconnecting deletes it.',
    restarted: (name: string) => `${name} was restarted.`,
    offer: { link: 'Let it ask me', extension: 'Install as an extension' },
    extensionStays: 'To prevent this, install the extension. The app does not overwrite it.',
    linkOpened: (name: string) => `${name} now asks whether to add ForeverVM.`,
    extensionOpened: (name: string, file: string) =>
      `${name} now asks whether to install the extension. If another program opens it, drag the file ${file} into the extensions page of ${name}'s settings.`,
    neverSeen: 'Not used yet.',
    seen: (when: string, calls: number) =>
      `Last used ${when}, ${number(calls)} ${calls === 1 ? 'tool call' : 'tool calls'}`,
    seenVersion: (version: string, when: string, calls: number) =>
      `Last used ${when} (version ${version}), ${number(calls)} ${calls === 1 ? 'tool call' : 'tool calls'}`,
    test: 'Test',
    works: (ms: number) => `The connection works. It answered after ${Math.round(ms)} ms.`,
    backups: 'Earlier settings',
    backupsTitle: (name: string) => `Earlier settings of ${name}`,
    backupsText: 'Copies from before each change. Restoring one saves the current settings first.',
    noBackups: 'No copies yet. ForeverVM keeps one before each change.',
    restore: 'Restore',
    back: 'Back',
  },

  hosted: {
    title: 'Hosted service',
    text: 'With a ForeverVM account, the list also shows your machines at the hosted service. Machines on this computer need no account.',
    sent: 'Code that you or an AI app runs on a hosted machine is sent to the service, with its input. Nothing from machines on this computer is sent.',
    account: 'Account',
    accountName: 'Account name',
    nameHint: '3 to 16 letters, digits, underscores and hyphens.',
    server: 'Service',
    otherServer: 'Use another service address',
    token: 'Token',
    tokenHint: 'It came by email. It is stored only in your computer’s keyring.',
    email: 'Email address',
    signIn: 'Sign in',
    signOut: 'Sign out',
    signUp: 'Get an account',
    signedUp: (email: string) => `Done. The token is on its way to ${email}. Sign in with it here.`,
    noAccount: 'I have no account',
    haveToken: 'I have a token',
    fromEnvironment:
      'ForeverVM started with the variable FOREVERVM_TOKEN, which sets who is signed in.',
    official: (path: string, token: string) =>
      `The official command line keeps a token (${token}) in ${path}, where every program can read it.`,
    takeOver: 'Sign in with it',
    removeText: (path: string) =>
      `The token is now in the keyring. It is also still in ${path}, where every program can read it.`,
    remove: 'Delete that file',
    others: 'Other saved accounts',
    use: 'Use',
    machine: 'Hosted',
    machineHint: 'It runs at the hosted service. You see only what this computer sends to it.',
    less: 'It runs at the hosted service, which offers no checkpoints, copies, files or variables. Machines on this computer have them.',
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
    resume: 'Resume',
    resumeHint: 'Go on with the code that was paused',
    save: 'Save a checkpoint',
    saveShort: 'Checkpoint',
    more: 'More for this machine',
    details: 'Name and tags…',
    pause: 'Pause',
    sleep: 'Put to sleep',
    wake: 'Wake up',
    copy: 'Copy this machine…',
    archive: 'Archive',
    unarchive: 'Unarchive',
    report: 'Export a report of the results…',
    exports: {
      ipynb: 'Export as a Jupyter notebook',
      html: 'Export everything as a web page',
      md: 'Export as Markdown',
      py: 'Export the code',
    },
    move: 'Move to another place…',
    pack: 'Save as a file…',
    memory: 'Memory limit…',
    openResults: 'Open the results folder',
    share: 'Share a folder…',
    sentenceCopy: 'Copy a prompt to continue',
    sentence: (name: string, title: string | undefined) =>
      `Go on in the ForeverVM machine ${name}${title ? ` (“${title}”)` : ''}: everything from before is still there. Look at its variables first.`,
    sentenceCopied: 'Copied. Paste it into your AI app.',
    remove: 'Delete',
    removed: (name: string) => `${name} was moved to the bin.`,
    undo: 'Undo',
    notFound: 'This machine no longer exists.',
    loadFailed: 'The work so far could not be loaded.',
    retry: 'Try again',
    history: 'Work so far',
  },

  shared: {
    title: 'Share a folder',
    text: 'Code in this machine sees the live folder at /mnt/shared. It can send what it reads there to any address the machine may reach (see Network). Checkpoints never contain the folder, and copies of the machine do not see it.',
    folder: 'Folder',
    folderHint: 'Its full path on the computer that runs ForeverVM',
    choose: 'Choose…',
    chooseTitle: 'Which folder may the machine see?',
    writable: 'Code may also change it',
    writableText:
      'Code can then change, add and delete files in the folder. ForeverVM cannot bring them back. It warns you about new files that programs on your computer, like git or editors, act on automatically.',
    awake:
      'ForeverVM saves the machine and wakes it again. Code may have to reopen its files in a shared folder.',
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
    place: 'Current folder',
    back: 'Back to the list',
    refresh: 'Refresh',
    newFolder: 'New folder',
    folderName: 'Folder name',
    make: 'Make it',
    upload: 'Put files into this folder',
    uploadShort: 'Add files',
    dropHere: (machine: string) => `Give to “${machine}”`,
    given: (file: string, machine: string, path: string) =>
      `“${machine}” has ${file} now, as ${path}`,
    drop: 'Drop files to put them here',
    noFolders: 'Folders cannot be dropped here. “forevervm cp” copies whole folders.',
    sending: (name: string) => `Sending ${name}`,
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
    noPreview: 'There is no preview for this kind of file. You can save it on this computer.',
    picture: (name: string) => `The picture ${name}`,
    cut: (size: string) => `This is the beginning. The whole file is ${size}.`,
    disk: 'Disk use of the machine',
    diskHint: 'What this machine has written, and its limit',
    used: (used: string, size: string) => `${used} of ${size} used`,
    inbox: (folder: string) =>
      `Put files into ${folder}, and every machine can read them. What machines save for you appears in Results in that folder.`,
    folder: 'Folder',
    kinds: { file: 'File', folder: 'Folder', link: 'Link', other: 'Neither file nor folder' },
  },

  network: {
    title: 'Network',
    reaches: 'What this machine may reach',
    standard: 'What machines may reach',
    standardText: 'Applies to every machine without its own rule.',
    modes: {
      default: 'Default',
      public: 'The public internet',
      ask: 'What you allow when it asks',
      list: 'Only the websites listed here',
      off: 'Nothing',
    } satisfies Record<NetworkMode, string>,
    asStandard: (mode: string) => `Default: ${mode.toLowerCase()}`,
    never:
      'A machine reaches your computer and the devices around it only if you list them by name or address.',
    upstream: (proxy: string) =>
      `This computer reaches the internet through the proxy ${proxy}, which resolves names itself. Rules for names apply. The addresses behind them are not checked.`,
    hosts: 'Listed websites',
    approved: 'Allowed when asked',
    add: 'Add a website',
    addHint: 'example.com, *.example.com or 192.168.1.5:5432',
    addShort: 'Add',
    remove: (host: string) => `Remove ${host}`,
    contacts: 'Connections',
    none: 'No connections yet, and no attempts.',
    earlier: 'Show earlier ones',
    carried: (names: string) => `It carried ${names}.`,
    states: {
      asking: 'Waiting for you',
      open: 'Open',
      closed: 'Reached',
      denied: 'Not allowed',
      failed: 'Not reached',
    } satisfies Record<Contact['state'], string>,
    moved: (sent: string, received: string) => `${sent} out, ${received} in`,
    question: (machine: string) => `${machine} wants to reach`,
    /** Whose step asks; without a name, one of the reader's own. */
    step: (seq: number, app: string) =>
      app ? `${app} is running step ${seq + 1} there.` : `Step ${seq + 1} is running there.`,
    waits: (left: string) => `The code waits. No answer within ${left} means No.`,
    more: (n: number) =>
      n === 1 ? 'One more question is waiting.' : `${n} more questions are waiting.`,
    answers: {
      deny: 'No',
      once: 'Allow for this step',
      machine: 'Always, for this machine',
      always: 'Always, for every machine',
    } satisfies Record<Answer, string>,
  },

  secrets: {
    title: 'Keys',
    text: 'Code often needs the key of a service. Keep it here: code then works with it and never sees it. Only the websites that you name get it. It lies in your computer’s keyring.',
    name: 'Name',
    nameHint: 'The environment variable in which code looks for the key.',
    value: 'Key',
    valueHint: 'It is not shown again.',
    hosts: 'Websites that get it',
    hostsHint: 'Such as api.openai.com or *.openai.com.',
    keep: 'Keep the key',
    kept: (name: string) => `Kept. Your AI app can use ${name} now.`,
    goes: (hosts: string) => `goes to ${hosts}`,
    remove: 'Forget',
  },

  access: {
    title: 'Access',
    text: 'Each AI app has a token of its own. It opens what the app’s tools do with machines, and no more: no settings, no network rules, no folders of yours. Lock out an app that you do not want any more.',
    kinds: { app: 'AI app', program: 'Program' } satisfies Record<Grant['kind'], string>,
    revoked: 'Locked out',
    used: (day: string) => `last used ${day}`,
    unused: 'not used yet',
    allow: 'Allow again',
    lockOut: 'Lock out',
    remove: 'Delete',
    make: 'Token for a program',
    makeHint: 'What you call the program. It can do what AI apps can.',
    makeShort: 'Make a token',
    made: 'Copy this token now. It is not shown again.',
    record: 'Record',
    recordText:
      'What was shared, allowed, given away and changed, newest first. Entries stay for good.',
    broken: (entry: number) =>
      `Something changed this record from outside: entry ${number(entry)} does not follow from the one before.`,
    byOwner: 'You',
    nothing: 'Nothing yet.',
    actions: {
      share: 'Folder shared',
      unshare: 'Sharing ended',
      network: 'Network rule',
      answer: 'Answer',
      contact: 'Connection',
      settings: 'Setting',
      export: 'Saved as a file',
      import: 'Opened from a file',
      connect: 'AI app connected',
      disconnect: 'AI app disconnected',
      account: 'Account',
      token: 'Token',
      person: 'Person',
      place: 'Place',
      secret: 'Key',
      purge: 'Deleted for good',
      update: 'Update',
      move: 'Files moved',
    } satisfies Record<RecordAction, string>,
  },

  permission: {
    asks: (app: string) => `${app} asks you`,
    rewind: (machine: string, steps: number) =>
      `Return ${machine} to an earlier state? This undoes ${steps === 1 ? '1 step' : `${number(steps)} steps`}. You can go back to the present state later.`,
    memory: (gb: number) =>
      `Make a machine with up to ${number(gb)} GB of memory? The usual limit is 2 GB.`,
    allow: 'Allow',
    deny: 'No',
  },

  step: {
    number: (seq: number) => `Step ${seq + 1}`,
    code: 'Code',
    /** What code does, in the middle of a sentence. */
    does: {
      installs: (names: string) => `installs ${names}`,
      fetches: (names: string) => `gets data from ${names}`,
      reads: (names: string) => `reads ${names}`,
      fits: () => 'fits a model',
      draws: () => 'draws a chart',
      saves: (names: string) => `saves ${names}`,
      defines: (names: string) => `defines ${names}`,
      computes: (names: string) => `works out ${names}`,
      shows: (names: string) => `shows ${names}`,
      loads: (names: string) => `loads ${names}`,
    } satisfies Record<ActKind, (names: string) => string>,
    linesOfCode: (n: number) => `${number(n)} ${n === 1 ? 'line' : 'lines'} of Python`,
    shown: { results: 'Results', everything: 'Everything' },
    shownHint: 'What this page shows of the steps of others',
    done: 'Done',
    queued: 'Waiting its turn',
    running: 'Running',
    cancelled: 'Cancelled before it ran',
    failed: 'Failed',
    interrupted: 'Stopped',
    timeout: 'Took too long and was stopped',
    undone: 'Undone',
    undoneHint:
      'The machine went back to an earlier state. Its variables and files are as before this step.',
    cancel: 'Cancel',
    copyCode: 'Copy code',
    copyOutput: 'Copy result',
    copied: 'Copied',
    allowAgain: (hosts: string) => `Allow ${hosts} and run again`,
    fix: 'Copy a request to fix it',
    fixPrompt: (machine: string, seq: number, error: string) =>
      `In the ForeverVM machine ${machine}, step ${seq + 1} failed: ${error}\nFind out why, and fix it.`,
    goBack: 'Go back to before this step',
    /** Where nothing is saved in between. */
    goBackTo: (seq: number) => `Go back to after step ${seq + 1}`,
    newFrom: 'New machine from here',
    runAgain: 'Run again',
    traceback: 'What Python says',
    hiddenLines: (n: number) => `${number(n)} more ${n === 1 ? 'line' : 'lines'}`,
    showAll: 'Show everything',
    showCode: (n: number) => `Show all ${number(n)} lines`,
    showLess: 'Show less',
    gap: 'The output in between is not shown here.',
    omitted: (n: number) => `${number(n)} parts in between are not shown`,
    outputLost: (size: string) => `${size} of output was too much to keep.`,
    background: 'Printed later, while nothing ran',
    warnings: (n: number) => (n === 1 ? 'A warning' : `${n} warnings`),
    loadFailed: 'The output could not be loaded.',
    retry: 'Try again',
    cutLine: (n: number) => `… ${number(n)} more characters`,
    interactive:
      'This kind of interactive figure is not shown here. Figures from matplotlib and Plotly are.',
    figureData: 'The data of the figure',
    heldUp: 'This figure did not finish drawing before. It may freeze the page.',
    drawAnyway: 'Draw it anyway',
    notShown: 'This kind of output cannot be shown here.',
    tooMuch:
      'This table or page is too big: showing it would freeze the window. Ask for a smaller part, such as its first rows.',
  },

  output: {
    title: 'Everything it printed',
    loading: 'Loading…',
    close: 'Close',
    copy: 'Copy',
    save: 'Save as a file',
    savedTo: (path: string) => `Saved as ${path}`,
    partly:
      'This is too long to show at once. You see the beginning and the end. The file has everything.',
    between: (n: number) => `… ${number(n)} ${n === 1 ? 'line is' : 'lines are'} not shown here …`,
    lines: (n: number) => `${number(n)} ${n === 1 ? 'line' : 'lines'}`,
    saveTable: 'Save this table as CSV',
    saveShown: 'Save the shown part as CSV',
    shortened:
      'This table is shortened. If it is in a variable, open the variable to see all of it.',
    find: 'Find',
    found: (n: number, of: number) => `${number(n)} of ${number(of)}`,
    picture: 'Picture made by this step',
    rich: 'Table or formatted output of this step',
    pictureFailed: 'The picture could not be loaded.',
    pictureTooMuch:
      'This drawing has too many parts: showing it would freeze the window. Ask for it as a PNG.',
    enlarge: 'Enlarge the picture',
    figureWaits: 'This figure is drawn when it comes into view.',
    saveFigure: (format: string) => `Save this figure as ${format.toUpperCase()}`,
    noPicture: 'This figure has no picture to save yet, or cannot be saved as one.',
    hugePicture: 'The picture of this figure is too large to save.',
    slowPicture: 'The figure gave no picture within a minute. It may have too much data.',
  },

  chat: {
    waiting: 'Waiting for the code to start',
    larger: 'Show larger',
    open: 'Open ForeverVM',
  },

  drop: {
    title: 'A file for your AI app',
    ask: (machine: string, path: string) =>
      path.endsWith('/')
        ? `Your AI app asks for a file. It goes into the folder ${path} of the machine ${machine}`
        : `Your AI app asks for a file. It goes into the machine ${machine}, as ${path}`,
    choose: 'Choose a file',
    hint: 'Or drop it here. The link takes one file, for 10 minutes.',
    one: 'This link takes one file. Drop one only.',
    zone: 'Place for the file',
    done: (file: string, size: string) => `The file is there: ${file}, ${size}.`,
    next: 'Go back to your AI app, and tell it to continue.',
  },

  editor: {
    label: 'Python code to run in this machine',
    placeholder: 'Optional: run Python here yourself',
    sentence: 'This box runs Python. To ask in words, ask your AI app.',
    copyRequest: 'Copy as a request',
    request: (machine: string, text: string) => `In the ForeverVM machine ${machine}: ${text}`,
    runAnyway: 'Run it anyway',
    run: 'Run',
    queue: 'Run next',
    hint: 'Shift+Enter',
    busy: 'The machine did not answer in time. It is busy, or the answer takes too long. Try again.',
    unknown: 'There is no information about this name yet.',
  },

  checkpoint: {
    title: 'Save a checkpoint',
    text: 'A checkpoint keeps everything as it is now: variables and files. You can go back to it at any time.',
    label: 'Name (optional)',
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
    show: 'Show checkpoints, plots, files and more',
    hide: 'Hide the panel',
    resize: 'Width of the panel',
    plots: 'Plots',
    variables: 'Variables',
    checkpoints: 'Checkpoints',
    about: 'About',
  },

  plots: {
    none: 'Plots and pictures that code makes appear here, each with a link to its step.',
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
    old: 'Python is busy. You see the values from before.',
    asleep: 'The machine is asleep. You see its last values.',
    asleepAndUnknown: 'The machine is asleep. Its variables are safe. Wake it to see them.',
    table: (rows: number, columns: number | undefined) =>
      columns === undefined
        ? `column of ${number(rows)} ${rows === 1 ? 'value' : 'values'}`
        : `table, ${number(rows)} ${rows === 1 ? 'row' : 'rows'} × ${number(columns)} ${columns === 1 ? 'column' : 'columns'}`,
    tables: 'Tables',
    values: 'Values',
    code: 'Functions and imports',
    kinds: { function: 'function', class: 'class' } as Record<string, string | undefined>,
  },

  table: {
    text: (type: string, rows: number, columns: number) =>
      `${type}, ${number(rows)} × ${number(columns)}. Only visible rows are loaded. The machine sorts and filters.`,
    open: 'Open as a table',
    formats: { csv: 'CSV', xlsx: 'Excel' },
    index: 'Index',
    sort: (column: string) => `Sort by ${column}`,
    filter: (column: string) => `Filter ${column}`,
    filterNumbers: '> 5',
    filterText: 'contains…',
    filterHint: 'Type part of a text, or a comparison: > 5, <= 2025-02, != Paris.',
    clearFilters: 'Clear the filters',
    spread: (range: string) => `How the values are spread, from ${range}`,
    only: (value: string) => `Show only rows with “${value}”`,
    distinct: (n: number) => `${number(n)} different`,
    missing: (n: number, percent: number) => `${number(n)} missing (${percent}%)`,
    sampled: 'Of some of the rows.',
    rows: (from: number, n: number, of: number, all: number) =>
      `${n === 0 ? 0 : number(from + 1)}–${number(from + n)} of ${number(of)}${of === all ? '' : ` (${number(all)} in all)`}`,
    columns: (from: number, n: number, of: number) =>
      `Columns ${number(from + 1)}–${number(from + n)} of ${number(of)}`,
    columnsBefore: 'Columns before',
    columnsAfter: 'Columns after',
    empty: '–',
    saveHint: 'Saves all rows that match, in this order',
    busy: 'The machine did not answer in time. It is busy, or the table is too large to sort or filter here. Try again, or do it in code.',
  },

  checkpoints: {
    text: 'This machine can go back to these states. ForeverVM saves one after each piece of work and later removes many of them. Those that you keep stay. When you go back, the work that you leave stays as a branch.',
    none: 'No checkpoints yet.',
    after: (seq: number) => (seq < 0 ? 'The beginning' : `After step ${seq + 1}`),
    now: '● Now',
    here: (seq: number) =>
      `You are back here, after step ${seq + 1}. The undone steps below stay as a branch.`,
    keep: 'Keep…',
    rename: 'Rename…',
    show: 'Show its step',
    isKept: 'Kept until you delete it',
    passes: 'Automatic. It may be removed later, unless you keep it',
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
    cpuLine: 'Processor use over time',
    since: 'Since you opened this page, at most 15 minutes.',
    of: (used: string, limit: string) => `${used} of ${limit} used`,
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
    owner: 'Belongs to',
    user: 'Used by',
    expires: 'Expires',
    parent: 'Made from',
    limit: 'Memory limit',
    tags: 'Tags',
    connect: 'From your own programs',
    connectText: 'Use one of these to reach this machine.',
    copy: 'Copy',
    copied: 'Copied.',
  },

  rewind: {
    lastStep: 'Go back to before the last step',
    title: (name: string) => `Go back to “${name}”?`,
    going: 'Going back…',
    looking: 'Looking at what was there…',
    variables: 'Data there',
    files: 'Files there',
    empty: 'There is no data and no file yet.',
    text: (later: number) =>
      later === 0
        ? 'Variables and files return to how they were then.'
        : `Variables and files return to how they were then. The work of the ${later === 1 ? 'step' : `${later} steps`} after it is put aside. You can still read ${later === 1 ? 'it' : 'them'} here.`,
    kept: 'What you leave stays as a branch, in the tab Checkpoints. You can go back to it.',
    toBranch: (name: string) => `Variables and files become what they were on “${name}”.`,
    keepAs: 'Name of the branch that you leave (optional)',
    keepAsHint:
      'With a name, it stays until you delete it. Without one, the last 20 branches stay.',
    confirm: 'Go back',
    done: 'The machine is back where you wanted it.',
    undo: 'Undo',
  },

  compare: {
    title: 'Differences',
    now: 'Compare with now',
    other: 'Compare with another…',
    this: 'Compare with this one',
    choose: (name: string) => `Choose what to compare “${name}” with.`,
    present: 'Now',
    text: (from: string, to: string) => `From “${from}” to “${to}”.`,
    looking: 'Comparing both states. They are loaded into memory for a moment, without a network…',
    nothing: 'No differences.',
    variables: 'Variables',
    files: 'Files',
    onlyFrom: (name: string) => `Steps that only “${name}” has`,
    onlyTo: (name: string) => `Steps that only “${name}” has`,
    kinds: { added: 'Added', removed: 'Removed', changed: 'Changed' },
    written: 'Written',
    writtenText: 'It was written and has the same size. It is too large to compare.',
    before: 'Before',
    after: 'After',
    column: (name: string) => `“${name}” changed`,
    means: (name: string, before: string, after: string) =>
      `mean of “${name}”: ${before} → ${after}`,
    step: (seq: number) => `Step ${seq + 1}`,
    unsure: (names: string, n: number) =>
      `${n === 1 ? 'This looks' : 'These look'} the same and could not be compared completely: ${names}`,
    partial: 'Not all variables, files or folders were compared: there are too many.',
    more: (n: number) => `and ${number(n)} more`,
  },

  branch: {
    mark: 'Branch',
    on: (name: string) => `You are on the branch “${name}”.`,
    own: (steps: number) =>
      steps === 0 ? 'no steps of its own' : `${steps} ${steps === 1 ? 'step' : 'steps'} of its own`,
    left: (when: string) => `left ${when}`,
    back: 'Go back to it',
    rename: 'Rename the branch…',
    remove: 'Delete this branch',
    renameTitle: 'Name of the branch',
    renameText: 'A branch that you name stays until you delete it.',
    label: 'Name',
    save: 'Rename',
    explain: 'What you left when you went back. You can return to it.',
  },

  move: {
    title: 'Move this machine',
    text: 'Its variables, files, history, kept checkpoints and branches go along. A move to or from another computer deletes its older automatic checkpoints. Code that runs is paused and goes on there.',
    confirm: 'Move it',
    moving: 'Moving. This may take minutes, and goes on when you close this.',
    done: (machine: string) => `${machine} has moved.`,
  },

  fork: {
    title: 'New machine from this state',
    text: 'A second machine starts with the variables and files of this state. The first one stays as it is.',
    name: 'Title (optional)',
    confirm: 'Make it',
  },

  details: {
    title: 'Name and tags',
    titleLabel: 'Title',
    titleHint: 'What it is for, in your own words',
    nameLabel: 'Name',
    nameHint: 'Used by programs and AI apps. Old names still work.',
    tagsLabel: 'Tags',
    tagsHint: 'One per line, like sales or project=sales',
    save: 'Save',
    badTag: (line: string) => `“${line}” is not a tag: write a word, or key=value.`,
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
        vm: 'On this computer, in a virtual machine',
        wsl: 'On this computer, in WSL',
        hosted: 'At the hosted service',
      })[name] ?? `On ${name.replace(/^(ssh|kubernetes):/, '')}`,
    noEngine: 'Machines cannot run yet',
    preparing: 'Preparing this computer',
    lookAgain: 'Start or check again',
    hostedInstead: 'Use the hosted service',
    running: (n: number) => (n === 0 ? 'Nothing is running' : `${n} running`),
    paused: (n: number) => `${n} paused`,
    awake: (n: number) => `${n} awake`,
    memory: (size: string) => `${size} of memory`,
    offline: 'Reconnecting…',
    details: 'What this means',
    notes: 'Some limits do not apply here',
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
    'Another program answers in place of ForeverVM. This page sends nothing to it. Run “forevervm open” to open the right page.',

  connecting: 'Starting…',
  moreFor: (name: string) => `More for ${name}`,
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

  /** What errors of the daemon mean, which tells them in English; none is needed here. */
  codes: undefined as undefined | Record<ErrorCode, string>,
};
