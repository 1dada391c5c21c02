/**
 * The daemon's JSON, by the names that the page uses; schema.ts is generated from
 * backend/api/openapi.yaml.
 */
import type { components, operations } from './schema';

type Schemas = components['schemas'];

export type Machine = Schemas['Machine'];
export type MachineState = Schemas['State'];
export type ActKind = Schemas['Act']['what'];
export type Move = Schemas['Move'];
export type NewMachine = Schemas['NewMachine'];
export type ShareFolder = Schemas['ShareFolder'];
export type MachineChange = Schemas['MachineChange'];
export type Instruction = Schemas['Instruction'];
export type Item = Schemas['Item'];
export type Representation = Schemas['Representation'];
export type Plot = Schemas['Plot'];
export type Variable = Schemas['Variable'];
export type ColumnAbout = Schemas['ColumnAbout'];
export type TableQuery = Schemas['TableQuery'];
export type TableRow = Schemas['TableRow'];
export type Table = Schemas['Table'];
export type TableSort = Schemas['TableSort'];
export type TableFilter = Schemas['TableFilter'];
export type Parcel = Schemas['Parcel'];
export type Checkpoint = Schemas['Checkpoint'];
export type Branch = Schemas['Branch'];
export type Contents = Schemas['Contents'];
export type ComparedStep = Schemas['ComparedStep'];
export type TypedKey = Schemas['TypedKey'];
export type Secret = Schemas['Secret'];
export type ColumnChange = Schemas['ColumnChange'];
export type Comparison = Schemas['Comparison'];
export type ChangeKind = Schemas['ChangeKind'];
export type Completions = Schemas['Completions'];
export type Inspection = Schemas['Inspection'];
export type Status = Schemas['Status'];
export type Progress = Schemas['Progress'];
export type PlaceFacts = Schemas['PlaceFacts'];
export type Settings = Schemas['Settings'];
export type Storage = Schemas['Storage'];
export type FreeUp = Schemas['FreeUp'];
export type SettingsChange = Schemas['SettingsChange'];
export type Update = Schemas['Update'];
export type SearchHit = Schemas['SearchHit'];
export type Event = Schemas['Event'];
export type AiApp = Schemas['App'];
export type AppState = Schemas['AppState'];
export type AppReport = Schemas['AppReport'];
export type AppBackup = Schemas['AppBackup'];
export type ChangeApp = Schemas['ChangeApp'];
export type Hosted = Schemas['Hosted'];
export type HostedAccount = Schemas['HostedAccount'];
export type FileEntry = Schemas['File'];
export type NetworkPolicy = Schemas['NetworkPolicy'];
export type NetworkChange = Schemas['NetworkChange'];
export type NetworkMode = NetworkPolicy['mode'];
export type Network = Schemas['Network'];
export type Grant = Schemas['Grant'];
export type AuditRecord = Schemas['Record'];
export type RecordAction = Schemas['RecordEntry']['action'];
export type Contact = Schemas['Connection'];
export type Drop = Schemas['Drop'];
export type Permission = Schemas['Permission'];
export type Answer = Schemas['Answer']['answer'];
/** A form in which what happened in a machine is told. */
export type Backups = Schemas['Backups'];
export type Export = NonNullable<
  NonNullable<operations['exportMachine']['parameters']['query']>['format']
>;
export type ErrorBody = Schemas['Error'];

/** Whether nothing more will happen to an instruction. */
export function isDone({ status }: Pick<Instruction, 'status'>): boolean {
  return status !== 'queued' && status !== 'running';
}

/** One page of a list; `next` is the cursor of the following one. */
export interface Page<T> {
  items: T[];
  next?: string;
}
