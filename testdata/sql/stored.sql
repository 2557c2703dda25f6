-- Equal queries are one query, however they are written: bought once, and stored.
SET mechanism = direct;
--> done
SET accuracy = 50;
--> done
SELECT COUNT(*) FROM visits WHERE sex = 'F' AND age = 3;
--> count
--> 52
SELECT COUNT(*) FROM visits WHERE NOT (age <> 3 OR NOT sex IN ('F'));
--> count
--> 52
SELECT COUNT(*) FROM visits v WHERE (v.age, v.sex) = (3, 'F');
--> count
--> 52
SHOW LEDGER;
--> seq | at | rows of | account | action | object | epsilon | delta | rho | hash
--> 1 | '(time)' | 'raw_visits' | 'releases' | 'budget declared: epsilon = 4, delta = 1e-6, interactive = 0.5; releases ε 2, δ 5e-7; interactive ρ 0.083441717833675 (ε 2 at δ 5e-7)' | 'raw_visits' | NULL | NULL | NULL | (hash)
--> 2 | '(time)' | 'raw_visits' | 'releases' | 'create release' | 'cells' | '1' | NULL | NULL | (hash)
--> 3 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.000753058854039' | (hash)
--> under sparse:
--> seq | at | rows of | account | action | object | epsilon | delta | rho | hash
--> 1 | '(time)' | 'raw_visits' | 'releases' | 'budget declared: epsilon = 4, delta = 1e-6, interactive = 0.5; releases ε 2, δ 5e-7; interactive ρ 0.083441717833675 (ε 2 at δ 5e-7)' | 'raw_visits' | NULL | NULL | NULL | (hash)
--> 2 | '(time)' | 'raw_visits' | 'releases' | 'create release' | 'zips' | '0.5' | NULL | NULL | (hash)
--> 3 | '(time)' | 'raw_visits' | 'releases' | 'create release' | 'cells' | '1' | NULL | NULL | (hash)
--> 4 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.000753058854039' | (hash)
--> under sparse, clip:
--> seq | at | rows of | account | action | object | epsilon | delta | rho | hash
--> 1 | '(time)' | 'raw_visits' | 'releases' | 'budget declared: epsilon = 4, delta = 1e-6, interactive = 0.5; releases ε 2, δ 5e-7; interactive ρ 0.083441717833675 (ε 2 at δ 5e-7)' | 'raw_visits' | NULL | NULL | NULL | (hash)
--> 2 | '(time)' | 'raw_visits' | 'releases' | 'create release' | 'zips' | '0.5' | NULL | NULL | (hash)
--> 3 | '(time)' | 'raw_visits' | 'releases' | 'create release' | 'cells' | '1' | '1e-7' | NULL | (hash)
--> 4 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.000753058854039' | (hash)
--> under sparse, named:
--> seq | at | rows of | account | action | object | epsilon | delta | rho | hash
--> 1 | '(time)' | 'raw_visits' | 'releases' | 'budget declared: epsilon = 1000, delta = 1e-6, interactive = 0.5; releases ε 500, δ 5e-7; interactive ρ 358.466743125490944 (ε 500 at δ 5e-7)' | 'raw_visits' | NULL | NULL | NULL | (hash)
--> 2 | '(time)' | 'raw_visits' | 'releases' | 'create release' | 'zips' | '0.5' | NULL | NULL | (hash)
--> 3 | '(time)' | 'raw_visits' | 'releases' | 'create release' | 'cells' | '20' | '1e-7' | NULL | (hash)
--> 4 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.000753058854039' | (hash)
--> under dense:
--> seq | at | rows of | account | action | object | epsilon | delta | rho | hash
--> 1 | '(time)' | 'raw_visits' | 'releases' | 'budget declared: epsilon = 4, delta = 1e-6, interactive = 0.5; releases ε 2, δ 5e-7; interactive ρ 0.083441717833675 (ε 2 at δ 5e-7)' | 'raw_visits' | NULL | NULL | NULL | (hash)
--> 2 | '(time)' | 'raw_visits' | 'releases' | 'create release' | 'cells' | '1' | '2.5e-7' | NULL | (hash)
--> 3 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.004687670417229' | (hash)
--> under smw, classes:
--> seq | at | rows of | account | action | object | epsilon | delta | rho | hash
--> 1 | '(time)' | 'raw_visits' | 'releases' | 'budget declared: epsilon = 1000, delta = 1e-6, interactive = 0.5; releases ε 500, δ 5e-7; interactive ρ 358.466743125490944 (ε 500 at δ 5e-7)' | 'raw_visits' | NULL | NULL | NULL | (hash)
--> 2 | '(time)' | 'raw_visits' | 'interactive' | 'number of rows' | 'visits' | NULL | NULL | '3.543017950661399' | (hash)
--> 3 | '(time)' | 'raw_visits' | 'interactive' | 'prior of mechanism' | 'live' | NULL | NULL | '105.22763313464355' | (hash)
--> 4 | '(time)' | 'raw_visits' | 'interactive' | 'reserve mechanism' | 'live' | NULL | NULL | '245.531143980834955' | (hash)
--> 5 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.000753058854039' | (hash)
--> under smw, uniform:
--> seq | at | rows of | account | action | object | epsilon | delta | rho | hash
--> 1 | '(time)' | 'raw_visits' | 'releases' | 'budget declared: epsilon = 1000, delta = 1e-6, interactive = 0.5; releases ε 500, δ 5e-7; interactive ρ 358.466743125490944 (ε 500 at δ 5e-7)' | 'raw_visits' | NULL | NULL | NULL | (hash)
--> 2 | '(time)' | 'raw_visits' | 'interactive' | 'number of rows' | 'visits' | NULL | NULL | '3.543017950661399' | (hash)
--> 3 | '(time)' | 'raw_visits' | 'interactive' | 'reserve mechanism' | 'live' | NULL | NULL | '350.758777115478505' | (hash)
--> 4 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.000753058854039' | (hash)
--> under smw release:
--> seq | at | rows of | account | action | object | epsilon | delta | rho | hash
--> 1 | '(time)' | 'raw_visits' | 'releases' | 'budget declared: epsilon = 1000, delta = 1e-6, interactive = 0.5; releases ε 500, δ 5e-7; interactive ρ 358.466743125490944 (ε 500 at δ 5e-7)' | 'raw_visits' | NULL | NULL | NULL | (hash)
--> 2 | '(time)' | 'raw_visits' | 'releases' | 'number of rows' | 'visits' | '4.95' | NULL | NULL | (hash)
--> 3 | '(time)' | 'raw_visits' | 'releases' | 'create release' | 'cells' | '490.05' | '4.95e-7' | NULL | (hash)
--> 4 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.000753058854039' | (hash)
--> under direct:
--> seq | at | rows of | account | action | object | epsilon | delta | rho | hash
--> 1 | '(time)' | 'raw_visits' | 'releases' | 'budget declared: epsilon = 4, delta = 1e-6, interactive = 0.5; releases ε 2, δ 5e-7; interactive ρ 0.083441717833675 (ε 2 at δ 5e-7)' | 'raw_visits' | NULL | NULL | NULL | (hash)
--> 2 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.000753058854039' | (hash)

-- A wider margin than that of a stored answer is served by it; a narrower one is bought.
SET accuracy = 80;
--> done
SELECT COUNT(*) FROM visits WHERE age = 3 AND sex = 'F';
--> count
--> 52
SET accuracy = 30;
--> done
SELECT COUNT(*) FROM visits WHERE age = 3 AND sex = 'F';
--> count
--> 52
--> under dense:
--> count
--> 52
--> warning: this takes 16 % of what is left for direct answers: ρ = 0.013 of 0.079

-- A grouped statement is one charge a slot, and what it bought serves the group alone.
SET accuracy = 100;
--> done
SELECT town, COUNT(*) FROM visits GROUP BY town;
--> town | count
--> '100%' | 30
--> 'Ash' | 30
--> 'Elm' | 180
--> 'Oak' | 0
SELECT COUNT(*) FROM visits WHERE town = 'Ash';
--> count
--> 30
SELECT (age + score) % 2, COUNT(*) FROM visits GROUP BY 1;
--> (age + score) % 2 | count
--> -1 | 0
--> 0 | 180
--> 1 | 60
SELECT COUNT(*) FROM visits WHERE (age + score) % 2 = 1;
--> count
--> 60
SHOW LEDGER;
--> seq | at | rows of | account | action | object | epsilon | delta | rho | hash
--> 1 | '(time)' | 'raw_visits' | 'releases' | 'budget declared: epsilon = 4, delta = 1e-6, interactive = 0.5; releases ε 2, δ 5e-7; interactive ρ 0.083441717833675 (ε 2 at δ 5e-7)' | 'raw_visits' | NULL | NULL | NULL | (hash)
--> 2 | '(time)' | 'raw_visits' | 'releases' | 'create release' | 'cells' | '1' | NULL | NULL | (hash)
--> 3 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.000753058854039' | (hash)
--> 4 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.002064035138218' | (hash)
--> 5 | '(time)' | 'raw_visits' | 'interactive' | '4 direct answers' | 'visits' | NULL | NULL | '0.000190160494645' | (hash)
--> 6 | '(time)' | 'raw_visits' | 'interactive' | '3 direct answers' | 'visits' | NULL | NULL | '0.000190160494645' | (hash)
--> under sparse:
--> seq | at | rows of | account | action | object | epsilon | delta | rho | hash
--> 1 | '(time)' | 'raw_visits' | 'releases' | 'budget declared: epsilon = 4, delta = 1e-6, interactive = 0.5; releases ε 2, δ 5e-7; interactive ρ 0.083441717833675 (ε 2 at δ 5e-7)' | 'raw_visits' | NULL | NULL | NULL | (hash)
--> 2 | '(time)' | 'raw_visits' | 'releases' | 'create release' | 'zips' | '0.5' | NULL | NULL | (hash)
--> 3 | '(time)' | 'raw_visits' | 'releases' | 'create release' | 'cells' | '1' | NULL | NULL | (hash)
--> 4 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.000753058854039' | (hash)
--> 5 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.002064035138218' | (hash)
--> 6 | '(time)' | 'raw_visits' | 'interactive' | '4 direct answers' | 'visits' | NULL | NULL | '0.000190160494645' | (hash)
--> 7 | '(time)' | 'raw_visits' | 'interactive' | '3 direct answers' | 'visits' | NULL | NULL | '0.000190160494645' | (hash)
--> under sparse, clip:
--> seq | at | rows of | account | action | object | epsilon | delta | rho | hash
--> 1 | '(time)' | 'raw_visits' | 'releases' | 'budget declared: epsilon = 4, delta = 1e-6, interactive = 0.5; releases ε 2, δ 5e-7; interactive ρ 0.083441717833675 (ε 2 at δ 5e-7)' | 'raw_visits' | NULL | NULL | NULL | (hash)
--> 2 | '(time)' | 'raw_visits' | 'releases' | 'create release' | 'zips' | '0.5' | NULL | NULL | (hash)
--> 3 | '(time)' | 'raw_visits' | 'releases' | 'create release' | 'cells' | '1' | '1e-7' | NULL | (hash)
--> 4 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.000753058854039' | (hash)
--> 5 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.002064035138218' | (hash)
--> 6 | '(time)' | 'raw_visits' | 'interactive' | '4 direct answers' | 'visits' | NULL | NULL | '0.000190160494645' | (hash)
--> 7 | '(time)' | 'raw_visits' | 'interactive' | '3 direct answers' | 'visits' | NULL | NULL | '0.000190160494645' | (hash)
--> under sparse, named:
--> seq | at | rows of | account | action | object | epsilon | delta | rho | hash
--> 1 | '(time)' | 'raw_visits' | 'releases' | 'budget declared: epsilon = 1000, delta = 1e-6, interactive = 0.5; releases ε 500, δ 5e-7; interactive ρ 358.466743125490944 (ε 500 at δ 5e-7)' | 'raw_visits' | NULL | NULL | NULL | (hash)
--> 2 | '(time)' | 'raw_visits' | 'releases' | 'create release' | 'zips' | '0.5' | NULL | NULL | (hash)
--> 3 | '(time)' | 'raw_visits' | 'releases' | 'create release' | 'cells' | '20' | '1e-7' | NULL | (hash)
--> 4 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.000753058854039' | (hash)
--> 5 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.002064035138218' | (hash)
--> 6 | '(time)' | 'raw_visits' | 'interactive' | '4 direct answers' | 'visits' | NULL | NULL | '0.000190160494645' | (hash)
--> 7 | '(time)' | 'raw_visits' | 'interactive' | '3 direct answers' | 'visits' | NULL | NULL | '0.000190160494645' | (hash)
--> under dense:
--> seq | at | rows of | account | action | object | epsilon | delta | rho | hash
--> 1 | '(time)' | 'raw_visits' | 'releases' | 'budget declared: epsilon = 4, delta = 1e-6, interactive = 0.5; releases ε 2, δ 5e-7; interactive ρ 0.083441717833675 (ε 2 at δ 5e-7)' | 'raw_visits' | NULL | NULL | NULL | (hash)
--> 2 | '(time)' | 'raw_visits' | 'releases' | 'create release' | 'cells' | '1' | '2.5e-7' | NULL | (hash)
--> 3 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.004687670417229' | (hash)
--> 4 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.012833740281954' | (hash)
--> 5 | '(time)' | 'raw_visits' | 'interactive' | '4 direct answers' | 'visits' | NULL | NULL | '0.001184297711578' | (hash)
--> 6 | '(time)' | 'raw_visits' | 'interactive' | '3 direct answers' | 'visits' | NULL | NULL | '0.001184297711578' | (hash)
--> under smw, classes:
--> seq | at | rows of | account | action | object | epsilon | delta | rho | hash
--> 1 | '(time)' | 'raw_visits' | 'releases' | 'budget declared: epsilon = 1000, delta = 1e-6, interactive = 0.5; releases ε 500, δ 5e-7; interactive ρ 358.466743125490944 (ε 500 at δ 5e-7)' | 'raw_visits' | NULL | NULL | NULL | (hash)
--> 2 | '(time)' | 'raw_visits' | 'interactive' | 'number of rows' | 'visits' | NULL | NULL | '3.543017950661399' | (hash)
--> 3 | '(time)' | 'raw_visits' | 'interactive' | 'prior of mechanism' | 'live' | NULL | NULL | '105.22763313464355' | (hash)
--> 4 | '(time)' | 'raw_visits' | 'interactive' | 'reserve mechanism' | 'live' | NULL | NULL | '245.531143980834955' | (hash)
--> 5 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.000753058854039' | (hash)
--> 6 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.002064035138218' | (hash)
--> 7 | '(time)' | 'raw_visits' | 'interactive' | '4 direct answers' | 'visits' | NULL | NULL | '0.000190160494645' | (hash)
--> 8 | '(time)' | 'raw_visits' | 'interactive' | '3 direct answers' | 'visits' | NULL | NULL | '0.000190160494645' | (hash)
--> under smw, uniform:
--> seq | at | rows of | account | action | object | epsilon | delta | rho | hash
--> 1 | '(time)' | 'raw_visits' | 'releases' | 'budget declared: epsilon = 1000, delta = 1e-6, interactive = 0.5; releases ε 500, δ 5e-7; interactive ρ 358.466743125490944 (ε 500 at δ 5e-7)' | 'raw_visits' | NULL | NULL | NULL | (hash)
--> 2 | '(time)' | 'raw_visits' | 'interactive' | 'number of rows' | 'visits' | NULL | NULL | '3.543017950661399' | (hash)
--> 3 | '(time)' | 'raw_visits' | 'interactive' | 'reserve mechanism' | 'live' | NULL | NULL | '350.758777115478505' | (hash)
--> 4 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.000753058854039' | (hash)
--> 5 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.002064035138218' | (hash)
--> 6 | '(time)' | 'raw_visits' | 'interactive' | '4 direct answers' | 'visits' | NULL | NULL | '0.000190160494645' | (hash)
--> 7 | '(time)' | 'raw_visits' | 'interactive' | '3 direct answers' | 'visits' | NULL | NULL | '0.000190160494645' | (hash)
--> under smw release:
--> seq | at | rows of | account | action | object | epsilon | delta | rho | hash
--> 1 | '(time)' | 'raw_visits' | 'releases' | 'budget declared: epsilon = 1000, delta = 1e-6, interactive = 0.5; releases ε 500, δ 5e-7; interactive ρ 358.466743125490944 (ε 500 at δ 5e-7)' | 'raw_visits' | NULL | NULL | NULL | (hash)
--> 2 | '(time)' | 'raw_visits' | 'releases' | 'number of rows' | 'visits' | '4.95' | NULL | NULL | (hash)
--> 3 | '(time)' | 'raw_visits' | 'releases' | 'create release' | 'cells' | '490.05' | '4.95e-7' | NULL | (hash)
--> 4 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.000753058854039' | (hash)
--> 5 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.002064035138218' | (hash)
--> 6 | '(time)' | 'raw_visits' | 'interactive' | '4 direct answers' | 'visits' | NULL | NULL | '0.000190160494645' | (hash)
--> 7 | '(time)' | 'raw_visits' | 'interactive' | '3 direct answers' | 'visits' | NULL | NULL | '0.000190160494645' | (hash)
--> under direct:
--> seq | at | rows of | account | action | object | epsilon | delta | rho | hash
--> 1 | '(time)' | 'raw_visits' | 'releases' | 'budget declared: epsilon = 4, delta = 1e-6, interactive = 0.5; releases ε 2, δ 5e-7; interactive ρ 0.083441717833675 (ε 2 at δ 5e-7)' | 'raw_visits' | NULL | NULL | NULL | (hash)
--> 2 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.000753058854039' | (hash)
--> 3 | '(time)' | 'raw_visits' | 'interactive' | 'direct answer' | 'visits' | NULL | NULL | '0.002064035138218' | (hash)
--> 4 | '(time)' | 'raw_visits' | 'interactive' | '4 direct answers' | 'visits' | NULL | NULL | '0.000190160494645' | (hash)
--> 5 | '(time)' | 'raw_visits' | 'interactive' | '3 direct answers' | 'visits' | NULL | NULL | '0.000190160494645' | (hash)
SET accuracy = 0.1;
--> done
SELECT COUNT(*) FROM visits WHERE age = 1;
--> error budget at 0: it needs ρ = 3.6 and the interactive account has 0.08 left
--> hint: SET accuracy = 20 answers it directly within ±20 (95 %) for ρ = 0.0046; the interactive budget left pays for 17 such answers
--> under sparse, named; smw release:
--> count
--> 12
--> under dense:
--> error budget at 0: no noise is within ±0.1
--> hint: SET accuracy = 50 answers it directly within ±50 (99.9999 %) for ρ = 0.0047; the interactive budget left pays for 13 such answers
--> under smw, classes; smw, uniform:
--> count
--> 12
--> warning: this takes 87 % of what is left for direct answers: ρ = 3.6 of 4.2
