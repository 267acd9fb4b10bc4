/**
 * What the administration API declares: of each kind how it is described, read, held still, made and changed.
 * The acts are those of the console and the commands; what gives power is proposed.
 */
import type { TObject } from 'typebox'
import type { Act } from '../audit/audit.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Sql } from '../database/database.ts'
import type { ObjectKind } from '../naming/object-name.ts'
import type { GuardPolicy } from '../network/address-guard.ts'
import type { ProposedActs, WiredKind } from '../proposals/acts.ts'
import type { Environment } from '../vocabulary/environment.ts'
import type { Permission } from '../vocabulary/permission.ts'

export interface AdministrationDependencies {
  readonly vault: Vault
  /** Where webhooks may go. */
  readonly guard: GuardPolicy
  readonly isDevelopment: boolean
  readonly environment: Environment
}

/** A request at work, in its transaction. */
export interface Work extends AdministrationDependencies {
  readonly sql: Sql
  readonly act: Act
  /** With the reason that the caller gave: refuses where there is none. */
  reasoned(): Act & { readonly reason: string }
  /** Whatever FOUR_EYES says: another person decides. */
  propose<Kind extends WiredKind>(kind: Kind, values: ProposedActs[Kind]): Promise<void>
  /** It is not done yet, and nobody can decide about it so far: something is missing first. */
  wait(): void
  /** Refuses people who belong to the partner: for whom the credential acts, and its readers. */
  refuseOwn(branchId: number): Promise<void>
}

export interface DeclaredObject<Spec> {
  readonly spec: Spec
  /** What only the gateway says of it. */
  readonly status: Readonly<Record<string, unknown>>
}

interface ObjectLabel {
  readonly name: string
  readonly owner: string | null
}

export interface DeclaredKind<Spec extends object> {
  readonly kind: ObjectKind
  /** Whether both sites share its objects, or each has its own. */
  readonly site: 'both' | 'own'
  readonly sees: Permission
  readonly manages: Permission
  /** As `PUT` takes it: every field may be left out. */
  readonly specification: TObject
  readonly status: TObject
  /** What the functions below call a field, where that is another name. */
  readonly fields: Readonly<Record<string, keyof Spec & string>>
  /** As the audit log has it. */
  subjectOf(id: string, name: string): string
  /** Held still until the transaction ends. */
  hold(sql: Sql, id: string): Promise<void>
  /** Those that there are, by id. */
  read(sql: Sql, ids: readonly string[], now: Date): Promise<ReadonlyMap<string, DeclaredObject<Spec>>>
  /** As it is kept: what is a set, in the order of its words. */
  tidy?(spec: Partial<Spec>): Partial<Spec>
  /** Makes it. Answers its id; undefined where that it is made is proposed. */
  make(work: Work, wanted: Partial<Spec>, label: ObjectLabel): Promise<string | undefined>
  /** Does what differs. */
  change(work: Work, id: string, before: Spec, wanted: Spec): Promise<void>
  end(work: Work, id: string, before: Spec): Promise<void>
}
