PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE dpsql_schema (version INTEGER NOT NULL) STRICT;
INSERT INTO dpsql_schema VALUES(4);
CREATE TABLE dpsql_public (
	name        TEXT NOT NULL COLLATE NOCASE PRIMARY KEY,
	declared_at TEXT NOT NULL
) STRICT;
INSERT INTO dpsql_public VALUES('icd10','2026-11-22T13:58:45Z');
CREATE TABLE dpsql_accounts (
	id                  INTEGER PRIMARY KEY,
	epsilon             TEXT NOT NULL,
	delta               TEXT NOT NULL,
	interactive         TEXT NOT NULL,
	release_epsilon     INTEGER NOT NULL,
	release_delta       INTEGER NOT NULL,
	interactive_rho     INTEGER NOT NULL,
	interactive_delta   INTEGER NOT NULL,
	interactive_epsilon INTEGER NOT NULL,
	created_at          TEXT NOT NULL
, digest BLOB NOT NULL DEFAULT x'', max_charge INTEGER NOT NULL DEFAULT 0, analysts_buy INTEGER NOT NULL DEFAULT 1) STRICT;
INSERT INTO dpsql_accounts VALUES(1,'2','1e-6','0.5',1000,500,300,7,11,'2026-11-22T13:58:45Z',X'9a462f3e5920a099e54c891fb6040228bd462fa6b777cd871a4f75aedaa91982',0,1);
INSERT INTO dpsql_accounts VALUES(2,'2','1e-6','0.5',1000,500,300,7,11,'2026-11-22T13:58:45Z',X'4cc473677891caf59dcf81430c1133a829e478a2615b4b0411698e56f517844b',0,1);
CREATE TABLE dpsql_bases (
	name    TEXT NOT NULL COLLATE NOCASE PRIMARY KEY,
	account INTEGER NOT NULL REFERENCES dpsql_accounts (id)
) STRICT;
INSERT INTO dpsql_bases VALUES('raws',1);
INSERT INTO dpsql_bases VALUES('afar: visits',2);
CREATE TABLE dpsql_tables (
	id            INTEGER PRIMARY KEY,
	name          TEXT NOT NULL COLLATE NOCASE,
	source        TEXT NOT NULL,
	account       INTEGER REFERENCES dpsql_accounts (id),
	unit          TEXT NOT NULL,
	max_rows      INTEGER NOT NULL,
	source_schema TEXT NOT NULL,
	key           BLOB NOT NULL,
	nhat          INTEGER,
	nhat_epsilon  INTEGER,
	nhat_rho      INTEGER,
	nhat_law      TEXT,
	created_at    TEXT NOT NULL,
	dropped_at    TEXT
, digest BLOB NOT NULL DEFAULT x'', source_id INTEGER REFERENCES dpsql_sources (id)) STRICT;
INSERT INTO dpsql_tables VALUES(1,'raw','raws',1,'',1,'',X'',100,0,0,'dlap(1)','2026-11-22T13:58:45Z',NULL,X'4d1b387a1f139515854a63498c4750c3a70fce57604a8af5b45230cd228630ed',NULL);
INSERT INTO dpsql_tables VALUES(2,'gone','raws',1,'patient',3,'',X'',NULL,NULL,NULL,NULL,'2026-11-22T13:58:45Z','2026-11-22T13:58:45Z',X'19f513e51f8c2d9685e0724bcf10754a91a7e0579da24fa2fda394a52edc9816',NULL);
INSERT INTO dpsql_tables VALUES(3,'visits','public.visits',2,'',1,'',X'',NULL,NULL,NULL,NULL,'2026-11-22T13:58:45Z',NULL,X'6c56347e007fcc83efca5556aeff2af77f4e5c86995d4467bb1462a9dd1f289e',1);
CREATE TABLE dpsql_columns (
	table_id INTEGER NOT NULL REFERENCES dpsql_tables (id),
	position INTEGER NOT NULL,
	name     TEXT NOT NULL COLLATE NOCASE,
	type     TEXT NOT NULL,
	domain   TEXT NOT NULL,
	PRIMARY KEY (table_id, position)
) STRICT, WITHOUT ROWID;
INSERT INTO dpsql_columns VALUES(1,0,'sex','TEXT','{"values":[null,"F","M"]}');
INSERT INTO dpsql_columns VALUES(1,1,'age','INTEGER','{"range":[0,120],"or_null":true}');
INSERT INTO dpsql_columns VALUES(1,2,'zip','TEXT','{}');
INSERT INTO dpsql_columns VALUES(2,0,'sex','TEXT','{"values":[null,"F","M"]}');
INSERT INTO dpsql_columns VALUES(2,1,'age','INTEGER','{"range":[0,120],"or_null":true}');
INSERT INTO dpsql_columns VALUES(2,2,'zip','TEXT','{}');
INSERT INTO dpsql_columns VALUES(3,0,'sex','TEXT','{"values":[null,"F","M"]}');
INSERT INTO dpsql_columns VALUES(3,1,'age','INTEGER','{"range":[0,120],"or_null":true}');
INSERT INTO dpsql_columns VALUES(3,2,'zip','TEXT','{}');
CREATE TABLE dpsql_releases (
	id          INTEGER PRIMARY KEY,
	name        TEXT NOT NULL COLLATE NOCASE,
	table_id    INTEGER NOT NULL REFERENCES dpsql_tables (id),
	columns     TEXT NOT NULL,
	method      TEXT NOT NULL,
	params      TEXT NOT NULL,
	epsilon     INTEGER NOT NULL,
	delta       INTEGER NOT NULL,
	max_support INTEGER NOT NULL,
	size        INTEGER NOT NULL,
	sha256      BLOB NOT NULL,
	created_at  TEXT NOT NULL,
	dropped_at  TEXT
, digest BLOB NOT NULL DEFAULT x'') STRICT;
INSERT INTO dpsql_releases VALUES(1,'r',1,'null','','{}',0,0,0,7,X'239f59ed55e737c77147cf55ad0c1b030b6d7ee748a7426952f9b852d5a935e5','2026-11-22T13:58:45Z',NULL,X'dfcf3becaf1f1518b3a5c39c171b898158df034ec4fc5e76b1b166ebac2def76');
INSERT INTO dpsql_releases VALUES(2,'s',1,'null','','{}',0,0,0,0,X'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855','2026-11-22T13:58:45Z','2026-11-22T13:58:45Z',X'8c841affab9b8f785d2307774708f0a409f4a758bbdd1fd692d8112d6290ae08');
CREATE TABLE dpsql_mechanisms (
	id           INTEGER PRIMARY KEY,
	name         TEXT NOT NULL COLLATE NOCASE,
	table_id     INTEGER NOT NULL REFERENCES dpsql_tables (id),
	columns      TEXT NOT NULL,
	params       TEXT NOT NULL,
	epsilon      INTEGER NOT NULL,
	rho          INTEGER NOT NULL,
	run_rho      INTEGER NOT NULL,
	updates      INTEGER NOT NULL,
	runs_started INTEGER NOT NULL,
	runs_ended   INTEGER NOT NULL,
	comparisons  INTEGER NOT NULL,
	run          INTEGER,
	tau          INTEGER,
	leased       INTEGER NOT NULL,
	state_size   INTEGER NOT NULL,
	state_sha256 BLOB NOT NULL,
	created_at   TEXT NOT NULL,
	dropped_at   TEXT
, digest BLOB NOT NULL DEFAULT x'') STRICT;
INSERT INTO dpsql_mechanisms VALUES(1,'m',1,'null','{}',0,60,3,20,0,0,0,NULL,NULL,0,3,X'2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683','2026-11-22T13:58:45Z',NULL,X'081522287122140394b45aa710c05c6fd550a1f7f9fbad4036b9854344bd7280');
INSERT INTO dpsql_mechanisms VALUES(2,'n',1,'null','{}',0,0,0,0,0,0,0,NULL,NULL,0,0,X'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855','2026-11-22T13:58:45Z','2026-11-22T13:58:45Z',X'842986fc713edfa254d186107adb1ae8d137dbeb554afac027ef1fcb918e676b');
CREATE TABLE dpsql_payloads (
	owner    TEXT NOT NULL,
	owner_id INTEGER NOT NULL,
	part     INTEGER NOT NULL,
	data     BLOB NOT NULL,
	PRIMARY KEY (owner, owner_id, part)
) STRICT;
INSERT INTO dpsql_payloads VALUES('release',1,0,X'7061796c6f6164');
INSERT INTO dpsql_payloads VALUES('mechanism',1,0,X'6b6579');
CREATE TABLE dpsql_history (
	mechanism INTEGER NOT NULL REFERENCES dpsql_mechanisms (id),
	seq       INTEGER NOT NULL,
	query     TEXT NOT NULL,
	noisy     INTEGER NOT NULL, digest BLOB NOT NULL DEFAULT x'',
	PRIMARY KEY (mechanism, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO dpsql_history VALUES(1,1,'q',0,X'0bda3eaf628af399e6c62188551457e5f2426fbaaa278f3f63ad4a6dbcd18d7e');
INSERT INTO dpsql_history VALUES(1,2,'q',1,X'2c90acfefcccdf0d6dba38e1389d91efb4f8ac2f556959202c8cfe7b4ec8f93e');
INSERT INTO dpsql_history VALUES(1,3,'q',2,X'b61a928f3ad0dc637c4a62119c57c0362e36d58db8fdc6a3b9f00f0e7036a482');
CREATE TABLE dpsql_answers (
	id         INTEGER PRIMARY KEY,
	table_id   INTEGER NOT NULL REFERENCES dpsql_tables (id),
	sha256     BLOB NOT NULL,
	query      TEXT NOT NULL,
	kind       TEXT NOT NULL,
	via        TEXT NOT NULL,
	mechanism  INTEGER REFERENCES dpsql_mechanisms (id),
	estimate   INTEGER NOT NULL,
	law        TEXT NOT NULL,
	created_at TEXT NOT NULL
, digest BLOB NOT NULL DEFAULT x'') STRICT;
INSERT INTO dpsql_answers VALUES(1,1,X'98152ff7955a21dfdc4842b9f0d3b96215cd6b2a1630017d87729777e1544faf','age{7: 1}','direct','direct',NULL,3,'{}','2026-11-22T13:58:45Z',X'058d8964ea4615031a610c3c58cad31be1d397d20eef252f91ba91d2166498f4');
CREATE TABLE dpsql_ledger (
	seq     INTEGER PRIMARY KEY,
	at      TEXT NOT NULL,
	account INTEGER NOT NULL REFERENCES dpsql_accounts (id),
	kind    TEXT NOT NULL,
	action  TEXT NOT NULL,
	object  TEXT NOT NULL,
	epsilon INTEGER NOT NULL,
	delta   INTEGER NOT NULL,
	rho     INTEGER NOT NULL,
	hash    BLOB NOT NULL
) STRICT;
INSERT INTO dpsql_ledger VALUES(1,'2026-11-22T13:58:45Z',1,'releases','budget declared: epsilon = 2, delta = 1e-6, interactive = 0.5; releases ε 1e-12, δ 5e-16; interactive ρ 3e-13 (ε 1.1e-14 at δ 7e-18)','raws',0,0,0,X'4966472cd0643e7a60f4ec2e35e878363cac9a99f727478e8d99452c67413002');
INSERT INTO dpsql_ledger VALUES(2,'2026-11-22T13:58:45Z',2,'releases','budget declared: epsilon = 2, delta = 1e-6, interactive = 0.5; releases ε 1e-12, δ 5e-16; interactive ρ 3e-13 (ε 1.1e-14 at δ 7e-18)','afar: visits',0,0,0,X'f31576815686ba222df463f09b7ea48082b6fc227c254d3ce5e82747386e9c16');
CREATE TABLE dpsql_rolls (
	owner  INTEGER NOT NULL,
	name   TEXT NOT NULL,
	count  INTEGER NOT NULL,
	sum    BLOB NOT NULL,
	PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
INSERT INTO dpsql_rolls VALUES(0,'accounts',2,X'846f39f4b58b48f4642b3bf1aff21044bbeb8394058733e3dfa28a32907e9ef9');
INSERT INTO dpsql_rolls VALUES(0,'catalog',0,X'7151cf46b1b78148807ef00d56f588f94f5cf0919011508847c4786e39af86d1');
INSERT INTO dpsql_rolls VALUES(0,'columns of public tables',2,X'cac1992d469c6fa409d27d4e4a1c39e6b8b492405b8ffb6b368eda47282f5cf4');
INSERT INTO dpsql_rolls VALUES(0,'declared tables',3,X'3dbbd280f65a0d3e1f2f231fd0a06e9388cf976b8f9fabf79ce82f0c688fa64b');
INSERT INTO dpsql_rolls VALUES(0,'ledger',2,X'f31576815686ba222df463f09b7ea48082b6fc227c254d3ce5e82747386e9c16');
INSERT INTO dpsql_rolls VALUES(0,'mechanisms',1,X'83c563bc5acdcc682f3c141a70f5a3d52b5d7d8900bb7baec659bf2edd9cbc26');
INSERT INTO dpsql_rolls VALUES(0,'private tables',2,X'3a1188c8191c89a254380cf40fa7dd02187969768aa3e3ba85131a10256d8494');
INSERT INTO dpsql_rolls VALUES(0,'public tables',1,X'086a12eb0273e1ac029d3834f30038d58345cf00a2acfe4bbe7fa4ac1c60accc');
INSERT INTO dpsql_rolls VALUES(0,'releases',1,X'83c563bc5acdcc682f3c141a70f5a3d52b5d7d8900bb7baec659bf2edd9cbc26');
INSERT INTO dpsql_rolls VALUES(0,'sources',1,X'83c563bc5acdcc682f3c141a70f5a3d52b5d7d8900bb7baec659bf2edd9cbc26');
INSERT INTO dpsql_rolls VALUES(0,'stored answers',1,X'92b8af46f13cacf2e46ff59a1dc7e42710baf60c6685a40b611282adb3373fa4');
INSERT INTO dpsql_rolls VALUES(1,'history',3,X'b61a928f3ad0dc637c4a62119c57c0362e36d58db8fdc6a3b9f00f0e7036a482');
CREATE TABLE dpsql_sources (
	id         INTEGER PRIMARY KEY,
	name       TEXT NOT NULL COLLATE NOCASE,
	kind       TEXT NOT NULL,
	dsn_env    TEXT NOT NULL,
	timeout    INTEGER NOT NULL,
	created_at TEXT NOT NULL,
	dropped_at TEXT,
	digest     BLOB NOT NULL DEFAULT x''
) STRICT;
INSERT INTO dpsql_sources VALUES(1,'warehouse','postgres','WAREHOUSE_DSN',30,'2026-11-22T13:58:45Z',NULL,X'8e967a919b12888448862fc2d351b7775376cdad188ea6173862efccf30111dc');
INSERT INTO dpsql_sources VALUES(2,'old','postgres','OLD_DSN',0,'2026-11-22T13:58:45Z','2026-11-22T13:58:45Z',X'ea66a49842d3254ab9a9dbd060ff562b461bab817fbc535ea45ea62d0a855b2e');
CREATE TABLE dpsql_public_columns (
	public  TEXT NOT NULL COLLATE NOCASE,
	name    TEXT NOT NULL COLLATE NOCASE,
	lowest  TEXT NOT NULL,
	highest TEXT NOT NULL,
	step    TEXT NOT NULL,
	or_null INTEGER NOT NULL,
	PRIMARY KEY (public, name)
) STRICT;
INSERT INTO dpsql_public_columns VALUES('icd10','severity','0','1','0.1',0);
INSERT INTO dpsql_public_columns VALUES('icd10','cost','0','1','0.1',0);
CREATE UNIQUE INDEX dpsql_tables_live ON dpsql_tables (name) WHERE dropped_at IS NULL;
CREATE UNIQUE INDEX dpsql_releases_live ON dpsql_releases (name) WHERE dropped_at IS NULL;
CREATE UNIQUE INDEX dpsql_mechanisms_live ON dpsql_mechanisms (name) WHERE dropped_at IS NULL;
CREATE INDEX dpsql_answers_query ON dpsql_answers (table_id, sha256);
CREATE TRIGGER dpsql_ledger_update BEFORE UPDATE ON dpsql_ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER dpsql_ledger_delete BEFORE DELETE ON dpsql_ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER dpsql_ledger_insert BEFORE INSERT ON dpsql_ledger
WHEN NEW.seq IS NOT (SELECT COALESCE(MAX(seq), 0) + 1 FROM dpsql_ledger)
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER dpsql_history_delete BEFORE DELETE ON dpsql_history
BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER dpsql_history_insert BEFORE INSERT ON dpsql_history
WHEN NEW.seq IS NOT (SELECT COALESCE(MAX(seq), 0) + 1 FROM dpsql_history WHERE mechanism = NEW.mechanism)
BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER dpsql_history_update BEFORE UPDATE ON dpsql_history
BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE UNIQUE INDEX dpsql_sources_live ON dpsql_sources (name) WHERE dropped_at IS NULL;
COMMIT;
